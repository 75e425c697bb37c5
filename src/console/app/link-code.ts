/** A one-time code of a link, such as `/invitation#code=…`. Kept in memory only. */
let code: string | undefined;

/** A fragment that names a page: `#/setup?code=…`. */
const FRAGMENT_PAGE = /^#(\/(?:setup|invitation|login-request))(?:\?(.*))?$/;

/**
 * Takes the code from the fragment of the page's address and removes it from there, before anything else runs: it must
 * not stay in the history.
 */
export function takeLinkCode(): void {
  const { hash, pathname } = location;
  if (hash === "") return;
  const [, page, parameters] = FRAGMENT_PAGE.exec(hash) ?? [];
  code = new URLSearchParams(parameters ?? hash.slice(1)).get("code") ?? undefined;
  if (code !== undefined || page !== undefined) history.replaceState(null, "", page ?? pathname);
}

/** The code of the link that the page was opened with. */
export function linkCode(): string | undefined {
  return code;
}

/** Forgets the code once it was used. */
export function forgetLinkCode(): void {
  code = undefined;
}
