import { BROWSER_COOKIE, OIDC_COOKIE, SESSION_COOKIE } from "../../protocol/people/cookies.ts";

const OWN = [SESSION_COOKIE, BROWSER_COOKIE, OIDC_COOKIE];
const NAMES: ReadonlySet<string> = new Set(OWN.flatMap((name) => [name, `__Host-${name}`]));

const HEADER = "cookie";
const MAX_NAME_LENGTH = 64;

const [LF, CR, COLON, SEMICOLON, EQUALS, X] = ["\n", "\r", ":", ";", "=", "x"].map((text) => text.charCodeAt(0));

type Place = "header" | "name" | "value" | "own_value" | "other";

/**
 * Overwrites the service's own cookies in what a browser sends to an app. A cookie belongs to a host name and not to a port,
 * so a browser that has a console open at http://127.0.0.1:8080 sends the session to an app at http://127.0.0.1:1880. Lengths
 * stay the same, and nothing is held back. Sees requests without TLS only.
 */
export class CookieScreen {
  /** What comes next: the name of a header, the name of a cookie, its value, a value of the service's, or nothing of these. */
  #at: Place = "header";
  #name = "";

  /** Overwrites in place. Called with all bytes of a connection, in order. */
  screen(bytes: Uint8Array): void {
    for (let index = 0; index < bytes.length; index++) {
      if (this.#at === "other") {
        const end = bytes.indexOf(LF ?? 0, index);
        if (end === -1) return;
        index = end;
      }
      const byte = bytes[index] ?? 0;
      if (byte === LF) this.#enter("header");
      else if (this.#at === "header") this.#header(byte);
      else if (byte === SEMICOLON) this.#enter("name");
      else if (this.#at === "own_value" && byte !== CR) bytes[index] = X ?? 0;
      else if (this.#at === "name") this.#cookie(byte);
    }
  }

  #header(byte: number): void {
    if (byte === COLON) this.#enter(this.#name.toLowerCase() === HEADER ? "name" : "other");
    else if (this.#name.length > HEADER.length) this.#enter("other");
    else this.#name += String.fromCharCode(byte);
  }

  #cookie(byte: number): void {
    if (byte === EQUALS) this.#enter(NAMES.has(this.#name.trim()) ? "own_value" : "value");
    else if (this.#name.length < MAX_NAME_LENGTH) this.#name += String.fromCharCode(byte);
  }

  #enter(at: Place): void {
    this.#at = at;
    this.#name = "";
  }
}
