import { checkServerIdentity, type PeerCertificate } from "node:tls";

/**
 * Timeout for each address of a host before the next one is tried, in milliseconds. Node.js's default of half a second
 * is too short for a poor cellular link.
 */
export const ADDRESS_TIMEOUT_MS = 5_000;

/**
 * Returns a `checkServerIdentity` that verifies the certificate against `host`. Behind a proxy, Node.js would verify the
 * certificate of a host given as an IP address against "localhost".
 *
 * @param host name or address, IPv6 without brackets
 */
export function verifyHost(host: string): (name: string, certificate: PeerCertificate) => Error | undefined {
  return (_name, certificate) => checkServerIdentity(host, certificate);
}
