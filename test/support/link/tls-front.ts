import { writeFile } from "node:fs/promises";
import { type AddressInfo, type Socket, connect } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";
import { CertificateAuthority } from "./certificates.ts";

/** Terminates TLS in front of a control plane, as a production proxy does. */
export interface TlsFront extends AsyncDisposable {
  readonly port: number;
  /** File with the certificate authority to trust. */
  readonly caFile: string;
  /** Cuts every connection. */
  cut(): void;
}

/** @param names further subject alternative names of its certificate, such as `,DNS:control.example` */
export async function tlsFront(folder: string, host: string, backend: string, names = ""): Promise<TlsFront> {
  const authority = await CertificateAuthority.create(folder, "bench");
  const caFile = join(folder, "bench-ca.pem");
  await writeFile(caFile, authority.cert);
  const { hostname, port } = new URL(backend);
  const sockets = new Set<Socket>();
  const server = createServer({ ...(await authority.issue(`IP:${host}${names}`)), noDelay: true }, (secure) => {
    const plain = connect({ host: hostname, port: Number(port), noDelay: true });
    for (const socket of [secure, plain]) sockets.add(socket.once("close", () => sockets.delete(socket)));
    secure.on("error", () => plain.destroy()).pipe(plain);
    plain.on("error", () => secure.destroy()).pipe(secure);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    caFile,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
