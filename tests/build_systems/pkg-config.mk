all: sum_c sum_cxx sum_fortran
sum_c: sum.c
	cc $(shell pkg-config --cflags mpi-c) -o $@ sum.c $(shell pkg-config --libs mpi-c)
sum_cxx: sum.cpp
	c++ $(shell pkg-config --cflags mpi-cxx) -o $@ sum.cpp $(shell pkg-config --libs mpi-cxx)
sum_fortran: sum.f90
	gfortran $(shell pkg-config --cflags mpi-fort) -o $@ sum.f90 $(shell pkg-config --libs mpi-fort)
