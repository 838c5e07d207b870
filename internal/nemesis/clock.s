// This file lets the compiler accept nanotime, which has no body here.
