# SPDX-License-Identifier: Apache-2.0
# cmake -DNAME=symbol -DIN=file -DOUT=file.c -P embed.cmake: the bytes of a text file as a C string.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REPLACE "0x0a," "0x0a,\n" bytes "${bytes}")
file(WRITE ${OUT} "extern const char ${NAME}[];\nconst char ${NAME}[] = {\n${bytes}0x00};\n")
