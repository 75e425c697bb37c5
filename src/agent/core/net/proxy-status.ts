/** Explains a proxy's response to `CONNECT` other than 200. */
export function explainProxyStatus(status: number): string {
  const meaning =
    status === 407
      ? "the proxy wants a user name and password, or other ones"
      : status === 403
        ? "the proxy forbids this connection"
        : "the proxy could not make the connection";
  return `${meaning} (HTTP ${status})`;
}
