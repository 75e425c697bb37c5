import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { createSecureContext, getCACertificates, type SecureContext, type SecureContextOptions } from "node:tls";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Splits a PEM text into its certificates. Throws if there is none or one cannot be parsed: Node.js silently ignores
 * such a file.
 *
 * @param what source of the text, for the error
 */
export function parseCertificates(pem: string, what: string): string[] {
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
 * Creates a context that trusts the given certificates in addition to Node.js's own and the system's. Takes some tens of
 * milliseconds, so create it once.
 *
 * @param what source of the certificates, for errors
 */
export function createTrustContext(
  pem: string,
  what: string = "extra_ca_file",
  options: SecureContextOptions = {},
): SecureContext {
  const extra = parseCertificates(pem, what);
  const system = hasSystemCertificates() ? getCACertificates("system") : [];
  return createSecureContext({ ...options, ca: [...new Set([...getCACertificates("default"), ...system, ...extra])] });
}

/** Whether the system has a certificate store. Without one, loading it makes Node.js print a warning. */
export function hasSystemCertificates(): boolean {
  const { SSL_CERT_FILE: file, SSL_CERT_DIR: folder = "/etc/ssl/certs" } = process.env;
  return file !== undefined || existsSync(folder);
}
