
/* A message to each neighbour: of count * count items over a face, count over an edge, one over a corner;
   `along` is count, or twice that for nodes. A wave of 1 goes to higher ranks only, one of -1 to lower ranks.
 */
static void neighbors(int dimensions, int faces, int periodic, int wave, int along, int bytes)
{
    static const int axes[7][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 1, 1, 0 },
                                    { 1, 0, 1 }, { 0, 1, 1 }, { 1, 1, 1 } };
    lay(dimensions);
    for (int set = 0; set < (faces ? 3 : 7); set++) {
        int moved = axes[set][0] + axes[set][1] + axes[set][2];
        if ((dimensions < 3 && axes[set][2]) || (dimensions < 2 && axes[set][1]))
            continue;
        int length = bytes;
        for (int free_axis = moved; free_axis < dimensions; free_axis++)
            length *= along;
        for (int signs = 0; signs < 1 << moved; signs++) {
            int step[3], bit = moved;
            for (int axis = 0; axis < 3; axis++)
                step[axis] = !axes[set][axis] ? 0 : signs >> --bit & 1 ? 1 : -1;
            int to = away(step[0], step[1], step[2], periodic),
                from = away(-step[0], -step[1], -step[2], periodic);
            if (from != MPI_PROC_NULL && (wave == 0 || (wave > 0 ? from < rank : from > rank)))
                begin_receive(from, length);
            if (to != MPI_PROC_NULL && (wave == 0 || (wave > 0 ? to > rank : to < rank)))
                begin_send(to, length);
        }
    }
    finish();
}
