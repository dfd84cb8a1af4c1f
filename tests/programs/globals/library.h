struct LibraryError {
    int value;
};
int library_add(const char *line);
void library_throw(int value);
