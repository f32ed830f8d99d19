/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * A pattern is a row of tokens: characters, "?" and sets take one character
 * each; a star takes any run without "/", a deep star ("**") any run, and a
 * deep star with its slash nothing or a run that ends in "/".
 *
 * Most patterns are refused by their literal head or tail. The rest are
 * matched greedily, each piece between stars at its leftmost place, with one
 * place to return to for stars and one for deep stars. Forgetting the earlier
 * places is right when the leftmost end of a piece can reach whatever a later
 * end can:
 *
 *   - "**" reaches everything behind it;
 *   - "*" reaches everything up to the next slash, and a later end of the
 *     piece before it lies in the same stretch;
 *   - deep star and slash reaches the places behind slashes, so the piece
 *     before it must end in "/" itself (or be the only one there can be).
 *
 * When a star has run into a slash, starting the deep star's piece again
 * within the same stretch ends at the same slash, so it is moved behind it:
 * each character is then looked at once per pattern character.
 *
 * What remains ("*x**" + "/y") is matched by following all places of the
 * pattern at once, as a set of bits. That is slower and equally bounded.
 */
#include "base/glob.h"

#include <string.h>

#include "base/text.h"

#define NONE ((size_t)-1)
#define FIRST_BYTE 0x110000 /* a byte that is not UTF-8 sorts behind all code points */

enum token_kind { TOKEN_LITERAL, TOKEN_ONE, TOKEN_SET, TOKEN_STAR, TOKEN_DEEP, TOKEN_DEEP_SLASH };

struct token {
    enum token_kind kind;
    size_t length; /* bytes of pattern */
    size_t skip;   /* LITERAL: 1 when it begins with a backslash that is not part of the character */
};

struct pattern {
    const char *bytes;
    size_t length;
    size_t last_bracket; /* one more than the index of the last "]", 0 when there is none, NONE when not known yet */
};

/* Read the character at text; returns its length in bytes. */
static size_t char_read(const char *text, size_t length, uint32_t *ret)
{
    unsigned char first = (unsigned char)text[0];
    size_t size;

    if (first < 0x80) {
        *ret = first;
        return 1;
    }
    size = tc_utf8_decode(text, length, ret);
    if (size > 0)
        return size;
    *ret = FIRST_BYTE + first;
    return 1;
}

static size_t char_size(const char *text, size_t length)
{
    uint32_t point;

    return char_read(text, length, &point);
}

/* Length of the set at offset at, which holds "[", or 0 when it is never closed. */
static size_t set_length(struct pattern *pattern, size_t at)
{
    size_t first = at + 1;
    const char *end;

    if (pattern->last_bracket == NONE) {
        end = memrchr(pattern->bytes, ']', pattern->length);
        pattern->last_bracket = end == NULL ? 0 : (size_t)(end - pattern->bytes) + 1;
    }
    if (first < pattern->length && (pattern->bytes[first] == '!' || pattern->bytes[first] == '^'))
        first++;
    if (pattern->last_bracket <= first + 1) /* a bracket that comes first is a member */
        return 0;
    end = memchr(pattern->bytes + first + 1, ']', pattern->length - first - 1);
    return (size_t)(end - pattern->bytes) + 1 - at;
}

/* True when the set of length bytes, brackets included, has this character. */
static bool set_has(const char *set, size_t length, uint32_t point)
{
    bool negated = set[1] == '!' || set[1] == '^', found = false;
    size_t at = negated ? 2 : 1, end = length - 1;

    while (at < end) {
        uint32_t low, high;

        at += char_read(set + at, end - at, &low);
        high = low;
        if (end - at >= 2 && set[at] == '-')
            at += 1 + char_read(set + at + 1, end - at - 1, &high);
        found = found || (point >= low && point <= high);
    }
    return found != negated && point != '/';
}

static struct token token_read(struct pattern *pattern, size_t at)
{
    const char *bytes = pattern->bytes + at;
    size_t left = pattern->length - at, length;

    switch (bytes[0]) {
    case '*':
        if (left < 2 || bytes[1] != '*')
            return (struct token){TOKEN_STAR, 1, 0};
        if (left < 3 || bytes[2] != '/')
            return (struct token){TOKEN_DEEP, 2, 0};
        return (struct token){TOKEN_DEEP_SLASH, 3, 0};
    case '?':
        return (struct token){TOKEN_ONE, 1, 0};
    case '[':
        length = set_length(pattern, at);
        if (length > 0)
            return (struct token){TOKEN_SET, length, 0};
        break;
    case '\\':
        if (left > 1)
            return (struct token){TOKEN_LITERAL, 1 + char_size(bytes + 1, left - 1), 1};
        break;
    default:
        break;
    }
    return (struct token){TOKEN_LITERAL, char_size(bytes, left), 0};
}

/* True when a token that takes one character takes the one at text, whose size is returned then. */
static bool token_takes(struct pattern *pattern, size_t at, struct token token, const char *text, size_t length,
                        size_t *ret)
{
    uint32_t point;

    *ret = char_read(text, length, &point);
    if (token.kind == TOKEN_ONE)
        return point != '/';
    if (token.kind == TOKEN_SET)
        return set_has(pattern->bytes + at, token.length, point);
    return token.kind == TOKEN_LITERAL && *ret == token.length - token.skip &&
           memcmp(pattern->bytes + at + token.skip, text, *ret) == 0;
}

static bool is_special(char c)
{
    return c == '*' || c == '?' || c == '[' || c == '\\';
}

/*
 * Compare the literal end of the pattern. A backward walk stays among literal
 * bytes until it meets one of these: no "]" behind it means that no set is
 * open, and the slash of a deep star may match nothing.
 */
static bool tail_fits(const char *pattern, size_t pattern_length, const char *text, size_t text_length)
{
    while (pattern_length > 0) {
        char c = pattern[pattern_length - 1];

        if (c == '*' || c == '?' || c == ']' || c == '\\')
            return true;
        if (c == '/' && pattern_length > 1 && pattern[pattern_length - 2] == '*')
            return true;
        if (text_length == 0 || text[text_length - 1] != c)
            return false;
        pattern_length--;
        text_length--;
    }
    return true;
}

/* ---- all places at once ---- */

#define WORDS (TC_GLOB_MAX / 64 + 1)

struct places {
    uint64_t bits[WORDS];
};

static bool place_has(const struct places *places, size_t at)
{
    return (places->bits[at / 64] >> at % 64 & 1) != 0;
}

static void place_set(struct places *places, size_t at)
{
    places->bits[at / 64] |= UINT64_C(1) << at % 64;
}

/* Arrive at a token: it may be matched next, and what follows it too as far as stars may take nothing. The place one
 * byte into a deep star with slash stands for being inside its text. */
static void place_arrive(struct pattern *pattern, struct places *places, size_t at)
{
    while (!place_has(places, at)) {
        struct token token;

        place_set(places, at);
        if (at == pattern->length)
            return;
        token = token_read(pattern, at);
        if (token.kind == TOKEN_DEEP_SLASH)
            place_set(places, at + 1);
        else if (token.kind != TOKEN_STAR && token.kind != TOKEN_DEEP)
            return;
        at += token.length;
    }
}

/* From one place with one character of text to the places after it. */
static void place_step(struct pattern *pattern, const struct places *starts, size_t at, const char *text, size_t length,
                       struct places *next)
{
    struct token token;
    size_t size;

    if (!place_has(starts, at)) { /* inside a deep star with slash, which began one byte earlier */
        place_set(next, at);
        if (text[0] == '/')
            place_arrive(pattern, next, at + 2);
        return;
    }
    token = token_read(pattern, at);
    if (token.kind == TOKEN_DEEP || (token.kind == TOKEN_STAR && text[0] != '/'))
        place_arrive(pattern, next, at);
    else if (token_takes(pattern, at, token, text, length, &size))
        place_arrive(pattern, next, at + token.length);
}

static bool match_places(struct pattern *pattern, const char *text, size_t length)
{
    struct places sets[2] = {0}, starts = {0}, *now = &sets[0], *next = &sets[1], *swap;

    for (size_t at = 0; at < pattern->length; at += token_read(pattern, at).length)
        place_set(&starts, at);
    place_arrive(pattern, now, 0);
    while (length > 0) {
        size_t size = char_size(text, length);

        memset(next, 0, sizeof *next);
        for (size_t word = 0; word <= pattern->length / 64; word++)
            for (uint64_t bits = now->bits[word]; bits != 0; bits &= bits - 1) {
                size_t at = word * 64 + (size_t)__builtin_ctzll(bits);

                if (at < pattern->length)
                    place_step(pattern, &starts, at, text, length, next);
            }
        swap = now;
        now = next;
        next = swap;
        text += size;
        length -= size;
    }
    return place_has(now, pattern->length);
}

/* ---- greedily ---- */

struct match {
    struct pattern pattern;
    const char *text;
    size_t length;
    size_t p, t;           /* where we are in pattern and text */
    size_t star_p, star_t; /* behind the last star since the last deep one, and how far it reaches; star_p NONE: none */
    size_t deep_p, deep_t; /* the same for the last deep star */
    bool deep_slash;       /* it must end in "/" */
};

/* Take the star at p. False when greedy matching cannot go on, see above. */
static bool match_open_star(struct match *m)
{
    struct token token = token_read(&m->pattern, m->p);
    bool slash = token.kind == TOKEN_DEEP_SLASH;
    bool behind_deep = m->deep_p == m->p && !m->deep_slash; /* "**" and at once another deep star are one "**" */

    if (token.kind == TOKEN_STAR) {
        m->star_p = ++m->p;
        m->star_t = m->t;
        return true;
    }
    if (slash && !behind_deep && (m->star_p != NONE || m->deep_p != NONE) && m->pattern.bytes[m->p - 1] != '/')
        return false;
    m->p += token.length;
    m->star_p = NONE;
    m->deep_p = m->p;
    m->deep_t = m->t;
    m->deep_slash = slash && !behind_deep;
    if (token.kind == TOKEN_DEEP && m->p == m->pattern.length)
        m->t = m->length;
    return true;
}

static bool match_character(struct match *m)
{
    char c = m->pattern.bytes[m->p];
    struct token token;
    size_t size;

    if ((unsigned char)c < 0x80 && !is_special(c)) {
        if (m->text[m->t] != c)
            return false;
        m->p++;
        m->t++;
        return true;
    }
    token = token_read(&m->pattern, m->p);
    if (!token_takes(&m->pattern, m->p, token, m->text + m->t, m->length - m->t, &size))
        return false;
    m->p += token.length;
    m->t += size;
    return true;
}

/* The plain ASCII character that pattern has at p, or NUL. Such a byte never stands inside another character. */
static char match_plain(const struct match *m, size_t p)
{
    char c = p < m->pattern.length ? m->pattern.bytes[p] : '\0';

    return (unsigned char)c < 0x80 && !is_special(c) ? c : '\0';
}

/* Let the star take one more character, or as many as cannot be the beginning of what follows it. */
static bool match_extend_star(struct match *m)
{
    char plain = match_plain(m, m->star_p);
    size_t t = m->star_t;

    if (t == m->length || m->text[t] == '/')
        return false;
    t += char_size(m->text + t, m->length - t);
    if (plain != '\0')
        while (t < m->length && m->text[t] != plain && m->text[t] != '/')
            t++;
    m->star_t = m->t = t;
    m->p = m->star_p;
    return true;
}

/* The same for the deep star; behind the next slash when it must end in one, or when nothing before it can help. */
static bool match_extend_deep(struct match *m, bool behind_slash)
{
    const char *at = m->text + m->deep_t;
    size_t left = m->length - m->deep_t;
    char plain = match_plain(m, m->deep_p);

    if (left == 0)
        return false;
    if (behind_slash || m->deep_slash) {
        at = memchr(at, '/', left);
        if (at == NULL)
            return false;
        at++;
    } else {
        size_t size = char_size(at, left);

        at += size;
        if (plain != '\0')
            at = memchr(at, plain, left - size);
        if (at == NULL)
            return false;
    }
    m->deep_t = m->t = (size_t)(at - m->text);
    m->p = m->deep_p;
    return true;
}

static bool match_retry(struct match *m)
{
    bool had_star = m->star_p != NONE;

    if (had_star && match_extend_star(m))
        return true;
    m->star_p = NONE;
    return m->deep_p != NONE && match_extend_deep(m, had_star);
}

static bool match_greedily(struct match *m)
{
    for (;;) {
        if (m->p < m->pattern.length && m->pattern.bytes[m->p] == '*') {
            if (!match_open_star(m))
                return match_places(&m->pattern, m->text, m->length);
        } else if (m->t == m->length) {
            return m->p == m->pattern.length; /* any other way of taking the stars leaves even less text */
        } else if (m->p == m->pattern.length || !match_character(m)) {
            if (!match_retry(m))
                return false;
        }
    }
}

bool tc_glob_match(const char *pattern, size_t pattern_length, const char *text, size_t text_length)
{
    struct match m = {
        .pattern = {pattern, pattern_length, NONE},
        .text = text,
        .length = text_length,
        .star_p = NONE,
        .deep_p = NONE,
    };
    size_t head = 0;

    if (pattern_length > TC_GLOB_MAX || !tail_fits(pattern, pattern_length, text, text_length))
        return false;
    for (; head < pattern_length && !is_special(pattern[head]); head++)
        if (head == text_length || text[head] != pattern[head])
            return false;
    if (head == pattern_length)
        return head == text_length;
    while (head > 0 && (unsigned char)pattern[head - 1] >= 0x80)
        head--; /* the text's character may be longer than what the pattern has of it */
    m.p = m.t = head;
    return match_greedily(&m);
}

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

enum tc_glob_shape tc_glob_classify(const char *pattern, size_t pattern_length, char *literal, size_t *literal_length)
{
    struct pattern parsed = {pattern, pattern_length, NONE};
    enum tc_glob_shape shape = TC_GLOB_LITERAL;
    size_t length = 0;
    char last = '\0';

    for (size_t at = 0; at < pattern_length;) {
        struct token token = token_read(&parsed, at);

        if (token.kind != TOKEN_LITERAL) {
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
