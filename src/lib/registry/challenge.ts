/** A challenge in `WWW-Authenticate` (RFC 9110, section 11.6.1). */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly parameters: Readonly<Record<string, string>>;
}

// Sticky patterns, tried in turn at each position: a scheme is a token without "=" after it.
const PARAMETER = /\s*(?:,\s*)?([!#$%&'*+.^_`|~\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))/y;
const SCHEME = /[\s,]*([!#$%&'*+.^_`|~\w-]+)(?=\s|,|$)/y;
const MAX_HEADER_LENGTH = 8192;

/**
 * Parses a `WWW-Authenticate` header. Stops at the first syntax error and returns the challenges before it. Returns none for
 * a header longer than `MAX_HEADER_LENGTH`.
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
