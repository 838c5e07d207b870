module example.com/samuel

go 1.25.0

require github.com/samuel/go-zookeeper v0.0.0-20201211165307-7117e9ea2414
