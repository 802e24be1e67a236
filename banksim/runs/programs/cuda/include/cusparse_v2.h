/* The name that cusparse.h had when it had two versions. */
#include "cusparse.h"
