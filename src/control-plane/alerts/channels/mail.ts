import { readFileSync } from "node:fs";
import type { NodemailerError } from "nodemailer";
import type { DeliveryAnswer } from "../../core/alerts/delivery.ts";
import { type AlertMessage, cleanText, detailsOf, messageIdOf, timesOf } from "../message.ts";
import { DETAILED, lineOf } from "./formats.ts";

/** The server that takes the service's mails. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  /** `implicit`: from the first byte on. `starttls`: required. `none`: for a server on the same machine. */
  readonly tls: "implicit" | "starttls" | "none";
  readonly from: string;
  readonly user?: string | undefined;
  readonly password_file?: string | undefined;
  readonly ca_file?: string | undefined;
}

const TIMEOUT_MS = 15_000;
const MAX_SUBJECT_LENGTH = 200;
const MAX_ANSWER_LENGTH = 300;

/** Sends mails. */
export class Mailer {
  readonly #server: MailServer | undefined;

  constructor(server: MailServer | undefined) {
    this.#server = server;
  }

  /** Never rejects: every failure is an answer. */
  async send(to: readonly string[], message: AlertMessage, id: string, signal: AbortSignal): Promise<DeliveryAnswer> {
    const server = this.#server;
    if (!server) return { kind: "failed", answer: "The service has no mail server: `mail` of its configuration." };
    // Loaded when it is needed: most services of one machine send no mail.
    const { createTransport } = await import("nodemailer");
    const { host, port, tls, from, user, password_file: passwordFile, ca_file: caFile } = server;
    try {
      const transport = createTransport({
        host,
        port,
        secure: tls === "implicit",
        requireTLS: tls === "starttls",
        ignoreTLS: tls === "none",
        connectionTimeout: TIMEOUT_MS,
        greetingTimeout: TIMEOUT_MS,
        socketTimeout: TIMEOUT_MS,
        // Nothing in a message names a file or an address to read.
        disableFileAccess: true,
        disableUrlAccess: true,
        ...(user !== undefined && {
          auth: { user, pass: passwordFile === undefined ? "" : readOwnFile(passwordFile).trimEnd() },
        }),
        ...(caFile !== undefined && { tls: { ca: readOwnFile(caFile) } }),
      });
      const onAbort = (): void => transport.close();
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        const sent = await transport.sendMail(mailOf(from, to, message, id));
        return { kind: "delivered", answer: cleanText(answerOf(sent), MAX_ANSWER_LENGTH) };
      } finally {
        signal.removeEventListener("abort", onAbort);
        transport.close();
      }
    } catch (error) {
      const answer = signal.aborted ? "no answer in time" : error instanceof Error ? error.message : String(error);
      return { kind: "failed", answer: cleanText(answer, MAX_ANSWER_LENGTH) };
    }
  }
}

interface Sent {
  readonly response: string;
  readonly rejectedErrors?: readonly NodemailerError[] | undefined;
}

/** Names whom the server has refused beside others: it is not tried again, since the others would get the mail again each time. */
function answerOf({ response, rejectedErrors = [] }: Sent): string {
  const refused = rejectedErrors.map(
    ({ recipient, response: reason, message }) => `${recipient ?? ""}: ${reason ?? message}`,
  );
  return refused.length === 0 ? response : `${response}; not to ${refused.join(", ")}`;
}

/** Throws without the path: customers are shown the answer. */
function readOwnFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new Error("The service cannot read a file that `mail` of its configuration names.");
  }
}

function mailOf(from: string, to: readonly string[], message: AlertMessage, id: string) {
  const domain = from.replace(/^.*@/, "").replaceAll(/[^A-Za-z0-9.-]/g, "");
  // The first mail of the group: programs show those that follow below it.
  const thread = `<${messageIdOf(message.group_id, 1)}@${domain}>`;
  const times = timesOf(message);
  const details = detailsOf(message, DETAILED);
  const lines = [lineOf(message), ...times, ...details.map((line) => `- ${line}`)];
  const text = [...lines, ...(message.url === null ? [] : ["", message.url])].join("\n");
  const items = details.map((line) => `<li>${escapeHtml(line)}</li>`).join("");
  const list = items === "" ? "" : `<ul>${items}</ul>`;
  const link = message.url === null ? "" : `<p><a href="${escapeHtml(message.url)}">Open</a></p>`;
  return {
    from,
    to: [...to],
    subject: cleanText(lineOf(message), MAX_SUBJECT_LENGTH),
    messageId: `<${id}@${domain}>`,
    ...(message.type !== "firing" && message.type !== "test" && { references: thread, inReplyTo: thread }),
    // So that nothing answers by itself.
    headers: { "Auto-Submitted": "auto-generated", "X-Auto-Response-Suppress": "All" },
    text,
    html: `${[lineOf(message), ...times].map((line) => `<p>${escapeHtml(line)}</p>`).join("")}${list}${link}`,
  };
}

function escapeHtml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
