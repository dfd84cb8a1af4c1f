#error "xsim has no load balancing in the manner of AMPI (sampi.h): leave MPI_Iteration_in, \
MPI_Iteration_out and MPI_Migrate out"
