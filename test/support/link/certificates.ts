import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Certificate {
  /** PEM. */
  readonly key: string;
  /** PEM. */
  readonly cert: string;
}

/** A certificate authority for a test. */
export class CertificateAuthority {
  readonly #own: string;
  readonly cert: string;

  private constructor(own: string, cert: string) {
    this.#own = own;
    this.cert = cert;
  }

  /** @param name must be unique in the directory */
  static async create(dir: string, name: string): Promise<CertificateAuthority> {
    const own = join(dir, name);
    await openssl(
      "req",
      "-x509",
      ...NEW_KEY,
      "-keyout",
      `${own}.key`,
      "-out",
      `${own}.crt`,
      "-days",
      "2",
      "-subj",
      `/CN=${name}`,
    );
    return new CertificateAuthority(own, await readFile(`${own}.crt`, "utf8"));
  }

  /**
   * Issues a server certificate.
   *
   * @param name subject alternative name, such as `IP:127.0.0.1`
   * @param days validity from now; negative for an expired certificate
   */
  async issue(name: string, days = 2): Promise<Certificate> {
    const own = `${this.#own}-${name.replaceAll(/\W/g, "_")}${days}`;
    await writeFile(`${own}.ext`, `subjectAltName=${name}\n`);
    await openssl("req", "-new", ...NEW_KEY, "-keyout", `${own}.key`, "-out", `${own}.csr`, "-subj", "/CN=server");
    const request = [
      "-req",
      "-in",
      `${own}.csr`,
      "-extfile",
      `${own}.ext`,
      "-days",
      String(days),
      "-out",
      `${own}.crt`,
    ];
    const issuer = ["-CA", `${this.#own}.crt`, "-CAkey", `${this.#own}.key`, "-CAcreateserial"];
    await openssl("x509", ...request, ...issuer);
    return { key: await readFile(`${own}.key`, "utf8"), cert: await readFile(`${own}.crt`, "utf8") };
  }
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

async function openssl(...args: string[]): Promise<void> {
  await run("openssl", args);
}
