/*
 * A stand-in for the one function of bcryptprimitives.dll that Rust's standard library imports on Windows.
 * Debian's Wine 8 lacks the library, and a program that imports it ends with exit code 53 before main.
 * Only for tests under Wine: on Windows the real library is used.
 */
#include <stddef.h>

/* advapi32's RtlGenRandom; it takes a 32-bit length. */
__declspec(dllimport) unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, size_t length)
{
    const size_t most = 1u << 30;
    while (length > 0) {
        size_t part = length < most ? length : most;
        if (!SystemFunction036(buffer, (unsigned long)part))
            return 0;
        buffer += part;
        length -= part;
    }
    return 1;
}
