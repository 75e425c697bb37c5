import { connect } from "node:tls";

/**
 * Returns when the certificate of an address with https is no longer valid, in Unix milliseconds; `undefined` if that cannot be found
 * out from here.
 */
export async function readCertificateEnd({ hostname, port }: URL, signal: AbortSignal): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const host = hostname.replace(/^\[|\]$/g, "");
  // Nothing is sent: a certificate that is not trusted, or no longer valid, has an end, too.
  const socket = connect({ host, port: Number(port || 443), servername: host, rejectUnauthorized: false }, () => {
    const endsAtMs = Date.parse(socket.getPeerCertificate().valid_to);
    resolve(Number.isFinite(endsAtMs) ? endsAtMs : undefined);
  });
  const onAbort = (): void => resolve(undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  socket.on("error", () => resolve(undefined));
  try {
    if (signal.aborted) return undefined;
    return await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
    socket.destroy();
  }
}
