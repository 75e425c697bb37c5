import fc from "fast-check";
import { expect, test } from "vitest";
import { CookieScreen } from "../../../../src/edgectl/streams/cookie-screen.ts";

/** Screens a text that arrives in pieces of these lengths. */
function screened(text: string, lengths: readonly number[] = []): string {
  const screen = new CookieScreen();
  const bytes = Buffer.from(text, "latin1");
  let at = 0;
  for (const length of [...lengths, bytes.length]) {
    screen.screen(bytes.subarray(at, at + length));
    at += length;
  }
  return bytes.toString("latin1");
}

const head = (cookies: string, rest = ""): string =>
  `GET / HTTP/1.1\r\nHost: 127.0.0.1:1880\r\n${cookies}\r\n\r\n${rest}`;

test.each([
  ["Cookie: edge_session=abc.DEF_1", "Cookie: edge_session=xxxxxxxxx"],
  ["cookie:a=1; edge_session=abc;b=2; edge_browser=abcd", "cookie:a=1; edge_session=xxx;b=2; edge_browser=xxxx"],
  ["COOKIE: __Host-edge_oidc=a=b==; c=d", "COOKIE: __Host-edge_oidc=xxxxx; c=d"],
  ["Cookie: not_edge_session=1; edge_sessions=2; a=edge_session=3", undefined],
  ["X-Cookie: edge_session=abc", undefined],
  ["Accept: Cookie: edge_session=abc", undefined],
])("%s", (cookies, expected = cookies) => {
  const whole = head(`Accept: */*\r\n${cookies}\r\nUpgrade: websocket`, `{"edge_session=": "edge_session=abc"}`);
  const rest = whole.replace(cookies, expected);
  expect(screened(whole)).toBe(rest);
  // The next request on the connection.
  expect(screened(`${whole}\r\n${whole}`)).toBe(`${rest}\r\n${rest}`);
});

test("wherever it is cut, and whatever else is in it, the result is the same and has the same length", () => {
  const part = fc.constantFrom("Cookie", ":", " ", ";", "=", "edge_session", "\r\n", "\n", "x", "abc", "\0\xff");
  fc.assert(
    fc.property(fc.array(part), fc.array(fc.nat(8)), (parts, lengths) => {
      const text = parts.join("");
      expect(screened(text, lengths)).toBe(screened(text));
      expect(screened(text)).toHaveLength(text.length);
    }),
  );
});
