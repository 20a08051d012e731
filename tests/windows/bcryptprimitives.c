/* Random numbers for programs of Rust under wine 8, which lacks bcryptprimitives.dll. Windows has the real one.

   x86_64-w64-mingw32-gcc -shared -o bcryptprimitives.dll bcryptprimitives.c -ladvapi32 */

#include <windows.h>

/* RtlGenRandom, under the name that advapi32 exports. */
BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG count);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
  for (SIZE_T done = 0; done < count;) {
    ULONG part = count - done > 0x10000000 ? 0x10000000 : (ULONG)(count - done);
    if (!SystemFunction036(bytes + done, part)) return FALSE;
    done += part;
  }
  return TRUE;
}
