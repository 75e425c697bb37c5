/** Shorter values ("1", "on") are no secrets, and masking them would make text unreadable. */
export const MIN_SECRET_LENGTH = 4;

/** Lines of a longer value that are shorter than this ("}", "debug: 1") may stand in any text. */
const MIN_LINE_LENGTH = 8;
/** Below this, what a value has in base64 whatever stands before and behind it is too little to tell it by. */
const MIN_BASE64_LENGTH = 5;
/** Longer values are looked for as they are, as JSON and by their lines only: encoded they would take megabytes. */
const MAX_ENCODED_LENGTH = 4096;

/**
 * The forms in which a secret may stand in a text: as it is, line by line, escaped for JSON and shells, encoded for web
 * addresses and forms, and in base64, also as a part of something longer (`user:password`). In two encodings at once, in
 * hexadecimal, or in base64 that is broken into lines, it is not found.
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
  // Engines tell what went wrong on one line.
  const onOneLine = secret.replaceAll(/[\p{Cc}\s]+/gu, " ");
  return [...lines, onOneLine].map((line) => line.trim()).filter((line) => line.length >= MIN_LINE_LENGTH);
}

function escaped(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  return [
    json,
    // As a text within JSON.
    JSON.stringify(json).slice(1, -1),
    // Of Python, Java, Go and PHP.
    json.replaceAll(/[^\0-\x7f]/g, (character) => `\\u${hex(character)}`),
    json.replaceAll(/[^\0-\x7f]/g, (character) => `\\u${hex(character).toUpperCase()}`),
    json.replaceAll(/[<>&\u2028\u2029]/g, (character) => `\\u${hex(character)}`),
    json.replaceAll("/", "\\/"),
    json.replaceAll('\\"', '"'),
    json.replaceAll('\\"', '"').replaceAll("'", "\\'"),
    // What shells make of it where they repeat a command.
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
    // As browsers send a form, and as others do, who do not encode the tilde.
    new URLSearchParams([["", wellFormed]]).toString().slice(1),
    strict.replaceAll("%20", "+"),
  ];
  return forms.flatMap((form) => [form, form.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase())]);
}

function percent(character: string): string {
  return `%${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}`;
}

/**
 * What base64 makes of the secret alone, whatever stands before and behind it: three forms, for the three places it may
 * begin at. At either end up to four bits of it are in a character that depends on its neighbour too.
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
