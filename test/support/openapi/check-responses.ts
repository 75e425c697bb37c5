import { Conformance } from "./conformance.ts";
import { readDocument } from "./read-document.ts";
import { watchResponses } from "./watch-responses.ts";

export interface ResponseCheck extends Disposable {
  /** Throws if a response so far, or a request that was carried out, did not match the document. */
  verify(): void;
}

// The document depends on the source code alone, so that of the first server of this process is that of all of them.
let shared: Promise<Conformance> | undefined;

/**
 * Checks every further response of a server in this process, and every request that it carries out, against its OpenAPI document.
 *
 * @param url the server's address, such as `http://127.0.0.1:40123`
 */
export async function checkResponses(url: string): Promise<ResponseCheck> {
  const conformance = await (shared ??= readDocument(url).then((document) => new Conformance(document)));
  const port = Number(new URL(url).port);
  const problems: string[] = [];
  const watch = watchResponses(
    (candidate) => candidate === port,
    (exchange) => {
      const found = conformance.problems(exchange);
      const what = `${exchange.method} ${exchange.url.slice(0, 200)} -> ${exchange.status}`;
      problems.push(...found.map((problem) => `${what}: ${problem}`));
    },
  );
  return {
    verify() {
      if (problems.length > 0) throw new Error(`exchanges do not match the OpenAPI document:\n${problems.join("\n")}`);
    },
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  };
}
