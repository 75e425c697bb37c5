import { writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Mailer } from "../../../src/control-plane/alerts/channels/mail.ts";
import { testMessage } from "../../../src/control-plane/alerts/message.ts";
import { CertificateAuthority } from "../../support/link/certificates.ts";
import { tempDir } from "../../support/temp-dir.ts";

/* Mails through a real server with TLS, that lets nobody send without a log-in. */

const PASSWORD = "correct horse";

let dir: Awaited<ReturnType<typeof tempDir>>;
let authority: CertificateAuthority;
beforeAll(async () => {
  dir = await tempDir();
  authority = await CertificateAuthority.create(dir.path, "authority");
  await writeFile(join(dir.path, "ca.pem"), authority.cert);
  await writeFile(join(dir.path, "password"), `${PASSWORD}\n`, { mode: 0o600 });
  await writeFile(join(dir.path, "wrong"), "battery staple\n", { mode: 0o600 });
});
afterAll(() => dir[Symbol.asyncDispose]());

/** Starts a mail server. Returns its port, and what it has taken: whether over TLS, by whom, and the mail. */
async function mailServer(options: SMTPServerOptions, name = "IP:127.0.0.1") {
  const taken: { readonly isSecure: boolean; readonly user: unknown; readonly data: string }[] = [];
  const logins: string[] = [];
  const server = new SMTPServer({
    ...(await authority.issue(name)),
    ...options,
    onAuth({ username = "", password }, session, callback) {
      logins.push(`${username} ${session.secure ? "over TLS" : "in the clear"}`);
      if (username === "edge" && password === PASSWORD) callback(null, { user: username });
      else callback(new Error("Authentication failed"));
    },
    onData(stream, { secure, user }, callback) {
      let data = "";
      stream.setEncoding("utf8").on("data", (chunk: string) => (data += chunk));
      stream.on("end", () => {
        taken.push({ isSecure: secure, user, data });
        callback();
      });
    },
  });
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
      }),
  );
  return { port: (server.server.address() as AddressInfo).port, taken, logins };
}

function send(
  port: number,
  tls: "implicit" | "starttls",
  files: { readonly password?: string; readonly ca?: string } = {},
) {
  const { password = "password", ca = "ca.pem" } = files;
  const mailer = new Mailer({
    host: "127.0.0.1",
    port,
    tls,
    from: "alerts@example.com",
    user: "edge",
    password_file: join(dir.path, password),
    ...(ca !== "" && { ca_file: join(dir.path, ca) }),
  });
  const { signal } = new AbortController();
  return mailer.send(["ops@example.com"], testMessage("acc_1", "mail", 1_800_000_000_000), "msg_1", signal);
}

test.each([
  ["implicit", { secure: true }],
  ["starttls", { secure: false }],
] as const)("a mail is sent with %s TLS, after a log-in within it", async (tls, options) => {
  const { port, taken, logins } = await mailServer(options);
  expect(await send(port, tls)).toMatchObject({ kind: "delivered", answer: expect.stringMatching(/^250 /) as string });
  expect(taken).toMatchObject([{ isSecure: true, user: "edge" }]);
  expect(taken[0]?.data).toContain("Message-ID: <msg_1@example.com>");
  expect(logins).toEqual(["edge over TLS"]);
});

test("a server whose certificate is not trusted, or is another one's, learns neither mail nor password", async () => {
  const mine = await mailServer({ secure: true });
  expect(await send(mine.port, "implicit", { ca: "" })).toMatchObject({ kind: "failed" });
  const other = await mailServer({ secure: false }, "DNS:mail.example.org");
  expect(await send(other.port, "starttls")).toMatchObject({ kind: "failed" });
  expect([mine.logins, mine.taken, other.logins, other.taken]).toEqual([[], [], [], []]);
});

test("a log-in that is refused is the answer, without the password", async () => {
  const { port, taken } = await mailServer({ secure: true });
  const answer = await send(port, "implicit", { password: "wrong" });
  expect(answer).toMatchObject({ kind: "failed", answer: expect.stringMatching(/Authentication failed/) as string });
  expect(JSON.stringify(answer)).not.toMatch(/battery|YmF0dGVyeS/);
  // Nor does it say where files of the service are.
  for (const files of [{ password: "missing" }, { ca: "missing" }])
    expect(await send(port, "implicit", files)).toEqual({
      kind: "failed",
      answer: "The service cannot read a file that `mail` of its configuration names.",
    });
  expect(taken).toEqual([]);
});
