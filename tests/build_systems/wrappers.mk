CC = mpicc
CXX = mpicxx
FC = mpifort

all: sum_c sum_cxx sum_fortran
sum_c: sum.c
	$(CC) -o $@ sum.c
sum_cxx: sum.cpp
	$(CXX) -o $@ sum.cpp
sum_fortran: sum.f90
	$(FC) -o $@ sum.f90
