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

#include "base/glob_token.h"

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
