package job

// continued is WCONTINUED, which package syscall has on the other systems.
const continued = 0x10
