/* For programs that were ported to SimGrid's SMPI and include this: MPI with SMPI's names. */
#include <smpi/smpi.h>
