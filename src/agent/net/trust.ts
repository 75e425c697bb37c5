import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { createSecureContext, getCACertificates, type SecureContext, type SecureContextOptions } from "node:tls";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The certificates in a PEM text. Throws where there is none, or one that cannot be read: Node itself takes such a
 * file without a word and trusts nothing from it.
 */
export function certificatesIn(pem: string, what: string): string[] {
  const certificates = pem.match(CERTIFICATE) ?? [];
  if (certificates.length === 0) throw new Error(`${what} holds no certificate in PEM form`);
  for (const [index, certificate] of certificates.entries()) {
    try {
      void new X509Certificate(certificate);
    } catch {
      throw new Error(`certificate number ${index + 1} of ${what} cannot be read`);
    }
  }
  return certificates;
}

/**
 * Trusts the given certificates beside Node's own and the system's. Takes some tens of milliseconds: make it once.
 *
 * @param what where they are from, for the error
 */
export function createTrustContext(
  pem: string,
  what: string = "extra_ca_file",
  options: SecureContextOptions = {},
): SecureContext {
  const extra = certificatesIn(pem, what);
  const system = hasSystemCertificates() ? getCACertificates("system") : [];
  return createSecureContext({ ...options, ca: [...new Set([...getCACertificates("default"), ...system, ...extra])] });
}

/** Whether the system has a place for certificates. Asked for them without one, Node complains on standard error. */
export function hasSystemCertificates(): boolean {
  const { SSL_CERT_FILE: file, SSL_CERT_DIR: folder = "/etc/ssl/certs" } = process.env;
  return file !== undefined || existsSync(folder);
}
