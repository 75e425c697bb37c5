import { usageFailure } from "../failure.ts";

const HINT = "Give the address of the service, such as https://edge.example.com.";

/** Parses the service's address; removes a trailing slash. Errors: exit code 2. */
export function parseBaseUrl(text: string): string {
  const trimmed = text.trim();
  let url: URL;
  try {
    url = new URL(trimmed);
  } catch {
    throw usageFailure(`The address "${trimmed}" is not a URL.`, HINT);
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw usageFailure(`The address "${trimmed}" is neither https:// nor http://.`, HINT);
  }
  if (url.username !== "" || url.password !== "") {
    throw usageFailure("The address must not hold a user name or password.", HINT);
  }
  if (url.search !== "" || url.hash !== "") {
    throw usageFailure("The address must not hold a query or a fragment.", HINT);
  }
  return url.href.replace(/\/+$/, "");
}

/** Whether a key sent to this address travels unencrypted. */
export function isUnprotected(baseUrl: string): boolean {
  const url = new URL(baseUrl);
  const isLoopback =
    url.hostname === "localhost" || url.hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(url.hostname);
  return url.protocol === "http:" && !isLoopback;
}
