/** A one-time code of a link, such as `/invitation#code=…`. Kept in memory only. */
let code: string | undefined;
/** The page that the link leads to once the code was used, as `next` of its parameters. */
let next = "";

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
  const given = new URLSearchParams(parameters ?? hash.slice(1));
  code = given.get("code") ?? undefined;
  next = given.get("next") ?? "";
  if (code !== undefined || page !== undefined) history.replaceState(null, "", page ?? pathname);
}

/** The code of the link that the page was opened with. */
export function linkCode(): string | undefined {
  return code;
}

/** Parameters with the page that the link leads to. */
export function linkTarget(): URLSearchParams {
  return new URLSearchParams({ next });
}

/** Forgets the code once it was used. */
export function forgetLinkCode(): void {
  code = undefined;
}
