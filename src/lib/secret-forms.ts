/** Shorter lines of a multi-line value ("}", "debug: 1") are too common to mask. */
const MIN_LINE_LENGTH = 8;
/** Shorter base64 fragments are too common to mask. */
const MIN_BASE64_LENGTH = 5;
/** Longer values are only masked verbatim, as JSON and by line: their encodings would take megabytes. */
const MAX_ENCODED_LENGTH = 4096;

/**
 * Returns the forms in which a secret may appear in a text: verbatim, line by line, escaped for JSON and shells,
 * encoded for URLs and forms, and in base64, also as part of a longer value (`user:password`). Not covered: two
 * encodings at once, hexadecimal, and base64 with line breaks.
 */
export function secretForms(secret: string): Set<string> {
  const forms = new Set([secret, ...escaped(secret)]);
  for (const line of linesOf(secret)) for (const form of [line, ...escaped(line)]) forms.add(form);
  if (secret.length <= MAX_ENCODED_LENGTH) {
    for (const form of [...urlEncoded(secret), ...base64(secret)]) forms.add(form);
  }
  return forms;
}

function linesOf(secret: string): string[] {
  const lines = secret.split(/[\r\n]+/);
  if (lines.length === 1) return [];
  // Engines report errors on one line.
  const onOneLine = secret.replaceAll(/[\p{Cc}\s]+/gu, " ");
  return [...lines, onOneLine].map((line) => line.trim()).filter((line) => line.length >= MIN_LINE_LENGTH);
}

function escaped(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    json,
    // JSON within JSON.
    JSON.stringify(json).slice(1, -1),
    // As escaped by Python, Java, Go and PHP.
    json.replaceAll(/[^\0-\x7f]/g, (character) => `\\u${hex(character)}`),
    json.replaceAll(/[^\0-\x7f]/g, (character) => `\\u${hex(character).toUpperCase()}`),
    json.replaceAll(/[<>&\u2028\u2029]/g, (character) => `\\u${hex(character)}`),
    json.replaceAll("/", "\\/"),
    json.replaceAll('\\"', '"'),
    json.replaceAll('\\"', '"').replaceAll("'", "\\'"),
    // As shells quote it when they print a command.
    secret.replaceAll("'", `'\\''`),
  ];
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(4, "0");
}

function urlEncoded(secret: string): string[] {
  const wellFormed = secret.toWellFormed();
  const strict = encodeURIComponent(wellFormed).replaceAll(/[!'()*]/g, percent);
  const forms = [
    encodeURIComponent(wellFormed),
    strict,
    strict.replaceAll("%2F", "/"),
    encodeURI(wellFormed),
    // Form encoding as in browsers, and in clients that do not encode the tilde.
    new URLSearchParams([["", wellFormed]]).toString().slice(1),
    strict.replaceAll("%20", "+"),
  ];
  return forms.flatMap((form) => [form, form.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase())]);
}

function percent(character: string): string {
  return `%${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}`;
}

/**
 * Returns the base64 characters that depend on the secret alone, independent of its neighbours, for each of the three
 * alignments. A character at either end that also encodes bits of a neighbour is omitted.
 */
function base64(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const whole = bytes.toString("base64");
  const parts = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const sharesLast = (before + bytes.length) % 3 !== 0;
    return text.slice(before === 0 ? 0 : before + 1, sharesLast ? -1 : undefined);
  });
  return [whole, whole.replace(/=+$/, ""), ...parts].flatMap((part) =>
    part.length < MIN_BASE64_LENGTH ? [] : [part, part.replaceAll("+", "-").replaceAll("/", "_")],
  );
}
