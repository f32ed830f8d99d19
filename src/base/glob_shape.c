/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said of a pattern without a text: its shape, the bytes it needs, and what looks like a mistake in it. */
#include <string.h>

#include "base/glob.h"
#include "base/glob_token.h"

/* Bytes that often stand together in paths get bits of their own: small letters, digits, and ". - _ /". */
static uint64_t trait(char c)
{
    unsigned char byte = (unsigned char)c;

    return UINT64_C(1) << (byte & (byte & 0x40 ? 31 : 63));
}

uint64_t tc_glob_traits(const char *pattern, size_t length)
{
    struct pattern parsed = {pattern, length, NONE};
    uint64_t traits = 0;
    struct token token;

    for (size_t at = 0; at < length; at += token.length) {
        token = token_read(&parsed, at);
        for (size_t i = token.skip; token.kind == TOKEN_LITERAL && i < token.length; i++)
            traits |= trait(pattern[at + i]);
    }
    return traits;
}

uint64_t tc_text_traits(const char *text, size_t length)
{
    uint64_t traits = 0;

    for (size_t i = 0; i < length; i++)
        traits |= trait(text[i]);
    return traits;
}

/* An escaped byte that would join the bytes before it to one character, when the backslash is gone: such a pattern
 * matches no text, and its literal must not be taken for a path. */
static bool escapes_half(const char *bytes, struct token token)
{
    return token.skip > 0 && token.length == 2 && ((unsigned char)bytes[1] & 0xc0) == 0x80;
}

size_t tc_glob_element(const char *pattern, size_t length, size_t at)
{
    struct pattern parsed = {pattern, length, NONE};

    return token_read(&parsed, at).length;
}

enum tc_glob_shape tc_glob_classify(const char *pattern, size_t pattern_length, char *literal, size_t *literal_length)
{
    struct pattern parsed = {pattern, pattern_length, NONE};
    enum tc_glob_shape shape = TC_GLOB_LITERAL;
    size_t length = 0;
    char last = '\0';

    for (size_t at = 0; at < pattern_length;) {
        struct token token = token_read(&parsed, at);

        if (token.kind != TOKEN_LITERAL || escapes_half(pattern + at, token)) {
            bool everything = token.kind == TOKEN_DEEP && at + token.length == pattern_length;

            shape = !everything ? TC_GLOB_OTHER : at == 0 ? TC_GLOB_ALL : last == '/' ? TC_GLOB_SUBTREE : TC_GLOB_OTHER;
            break;
        }
        if (literal != NULL)
            memcpy(literal + length, pattern + at + token.skip, token.length - token.skip);
        length += token.length - token.skip;
        at += token.length;
        last = pattern[at - 1];
    }
    if (shape == TC_GLOB_SUBTREE)
        length--;
    if (literal != NULL)
        literal[length] = '\0';
    if (literal_length != NULL)
        *literal_length = length;
    return shape;
}

const char *tc_glob_warning(const char *pattern, size_t pattern_length)
{
    struct pattern parsed = {pattern, pattern_length, NONE};
    struct token token;

    if (pattern_length > 0 && pattern[0] == '!')
        return "a leading '!' is an ordinary character, it does not negate";
    for (size_t at = 0; at < pattern_length; at += token.length) {
        token = token_read(&parsed, at);
        if (token.kind != TOKEN_LITERAL || token.skip > 0)
            continue;
        if (pattern[at] == '{')
            return "'{' is an ordinary character, alternatives need a rule each";
        if (pattern[at] == '[')
            return "'[' is never closed and stands for itself";
        if (pattern[at] == '\\')
            return "a backslash at the end stands for itself";
    }
    return NULL;
}
