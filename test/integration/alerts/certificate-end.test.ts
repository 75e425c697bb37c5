import { X509Certificate } from "node:crypto";
import { createServer as createTcpServer, type AddressInfo, type Server } from "node:net";
import { createServer } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { readCertificateEnd } from "../../../src/control-plane/alerts/certificate-end.ts";
import { CertificateAuthority } from "../../support/link/certificates.ts";
import { tempDir } from "../../support/temp-dir.ts";

async function listen(server: Server): Promise<URL> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  return new URL(`https://localhost:${(server.address() as AddressInfo).port}`);
}

const never = (): AbortSignal => new AbortController().signal;

test("the end of a certificate is read, whoever has issued it", async () => {
  await using dir = await tempDir();
  const authority = await CertificateAuthority.create(dir.path, "authority");
  const issued = await authority.issue("DNS:localhost");
  const server = createServer(issued, (socket) => socket.on("error", () => undefined));
  const url = await listen(server);
  const { validTo } = new X509Certificate(issued.cert);
  expect(await readCertificateEnd(url, never())).toBe(Date.parse(validTo));
});

test("nothing is said of an address that does not answer, or not in time", async () => {
  const arrived = Promise.withResolvers<void>();
  const silent = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    arrived.resolve();
  });
  const url = await listen(silent);
  const controller = new AbortController();
  const reading = readCertificateEnd(url, controller.signal);
  await arrived.promise;
  controller.abort();
  expect(await reading).toBeUndefined();
  expect(await readCertificateEnd(url, AbortSignal.abort())).toBeUndefined();
  const closed = createTcpServer();
  const nowhere = await listen(closed);
  await new Promise((resolve) => {
    closed.close(resolve);
  });
  expect(await readCertificateEnd(nowhere, never())).toBeUndefined();
});
