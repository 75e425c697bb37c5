/** One way of authenticating that a server offers in `WWW-Authenticate` (RFC 9110, section 11.6.1). */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly parameters: Readonly<Record<string, string>>;
}

// One pattern a token kind, tried in turn at each place: a scheme is a word without "=" behind it.
const PARAMETER = /\s*,?\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))/y;
const SCHEME = /[\s,]*([!#$%&'*+.^_`|~\w-]+)(?=\s|,|$)/y;
const MAX_HEADER_LENGTH = 8192;

/**
 * Reads a `WWW-Authenticate` header. What cannot be read ends it: the challenges before it are answered. A header of
 * unreasonable length has none.
 */
export function parseChallenges(header: string | undefined): Challenge[] {
  const text = header ?? "";
  const challenges: Challenge[] = [];
  if (text.length > MAX_HEADER_LENGTH) return challenges;
  let at = 0;
  for (;;) {
    const scheme = matchAt(SCHEME, text, at);
    if (!scheme) return challenges;
    at = SCHEME.lastIndex;
    const parameters: [string, string][] = [];
    for (let found = matchAt(PARAMETER, text, at); found; found = matchAt(PARAMETER, text, at)) {
      at = PARAMETER.lastIndex;
      parameters.push([(found[1] ?? "").toLowerCase(), found[2]?.replaceAll(/\\(.)/g, "$1") ?? found[3] ?? ""]);
    }
    challenges.push({ scheme: (scheme[1] ?? "").toLowerCase(), parameters: Object.fromEntries(parameters) });
  }
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
