/** Whether the host is this machine. Takes a host as in a URL or an image reference, with or without a port. */
export function isLoopback(host: string): boolean {
  return /^(?:(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?|::1)$/i.test(host);
}

/** Removes the brackets that a URL puts around an IPv6 address. */
export function stripBrackets(hostname: string): string {
  return hostname.replaceAll(/[[\]]/g, "");
}
