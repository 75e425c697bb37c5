import { expect } from "vitest";
import type { ControlPlane, TestAccount } from "../control-plane.ts";
import { accountTargets, type FillPath } from "./account-targets.ts";
import type { OpenApiDocument } from "./conformance.ts";
import { readDocument } from "./read-document.ts";
import { requestFields } from "./request-fields.ts";
import { type SampleRequest, sampleRequests } from "./sample-requests.ts";

export interface Operation extends SampleRequest {
  /** Such as `GET /v1/assets`. */
  readonly name: string;
  /** Names of its query parameters. */
  readonly query: readonly string[];
}

interface Described {
  readonly "x-permission"?: string;
  readonly requestBody?: unknown;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
}

interface Refusal {
  readonly details: { readonly current: object };
}

/** What is stored, as tests of one kind of store read it. */
export interface Stored {
  /** All that the service has stored, without what tells of the requests themselves and of the running service. */
  readonly everything: () => Promise<string> | string;
  /** What the requests of clients have changed: each change has its entry. Fleets go on by themselves meanwhile. */
  readonly madeByClients: () => unknown;
}

/** Tables about the running service, and what it notes of itself. */
export const OF_THE_SERVICE = /^(?:alert_groups|alert_rounds|device_habits|instances|leases|service_state)/;

/** Columns that reads change: when a key was used, and when a data plan that was read is judged next. */
export const CHANGED_BY_READS: readonly string[] = ["last_used_at", "plan_due_ms"];

export const CHANGES_OF_CLIENTS =
  "SELECT action, subject_id FROM audit WHERE actor_kind IN ('key', 'user') AND outcome = 'ok' ORDER BY id";

/** Deployments and rollouts remember the requests that made them: `order.test.ts`, `fleets.test.ts`. */
const REMEMBERED_OTHERWISE = /\/edge\/(?:agent|apps|apply)|\/rollouts$/;
/** They end the session of those that need one. */
const ENDS_SESSION = new Set(["DELETE /v1/session", "PUT /v1/session/password"]);

/** Samples that are refused, and with what, since the account does not have what they need. */
const NOT_CARRIED_OUT = {
  "a device that is connected": ["DELETE /v1/assets/{asset_id}/edge/volumes/{name} 503"],
  "a registry": ["POST /v1/fleets/{fleet}/revisions 502"],
  "a rollout in another state": [
    "POST /v1/fleets/{fleet}/reapply 404",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/advance 409",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/approve 409",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/retry 409",
    "POST /v1/fleets/{fleet}/rollouts/{rollout_id}/rollback 409",
  ],
  "a channel": ["POST /v1/alert-channels/{name}/test 404"],
  "a program that wants to log in": ["POST /v1/device-logins/{user_code} 404"],
};

/** Deletions come last, those of the longest paths first. */
const orderOfChange = ({ method, path }: Operation): number =>
  method === "DELETE" ? 1_000 - path.split("/").length : 0;

export const isWrite = ({ method }: Operation): boolean => method !== "GET";

/** Sends a sample of every operation of the document for an account that has one thing of every kind. */
export class AccountWalk {
  readonly control: ControlPlane;
  readonly operations: readonly Operation[];
  readonly fill: FillPath;
  readonly #account: TestAccount;
  readonly #cookie: string;
  readonly #document: OpenApiDocument;

  private constructor(
    control: ControlPlane,
    account: TestAccount,
    cookie: string,
    fill: FillPath,
    document: OpenApiDocument,
  ) {
    this.control = control;
    this.fill = fill;
    this.#account = account;
    this.#cookie = cookie;
    this.#document = document;
    const fields = requestFields(document);
    this.operations = sampleRequests(document).map((sample) => {
      const name = `${sample.method} ${sample.path}`;
      // An hour from now: that of the sample is over some day.
      if (name === "POST /v1/silences")
        Object.assign(sample.body as object, { until: Math.floor(Date.now() / 1000) + 3600 });
      const query = (fields.get(name) ?? []).filter((field) => field.startsWith("?")).map((field) => field.slice(1));
      return Object.assign(sample, { name, query });
    });
  }

  /** Prepares another account. */
  static async start(control: ControlPlane): Promise<AccountWalk> {
    const account = await control.account();
    const { cookie } = await control.session(account);
    const fill = await accountTargets(control, account);
    const walk = new AccountWalk(control, account, cookie, fill, await readDocument(control.url));
    // Records when the credentials were used.
    await walk.send(walk.operation("GET /v1/session"));
    return walk;
  }

  operation(name: string): Operation {
    const found = this.operations.find((operation) => operation.name === name);
    if (!found) throw new Error(`the document has no operation ${name}`);
    return found;
  }

  /** The operations that have the header as a parameter in the document. */
  declaring(header: string): readonly Operation[] {
    return this.operations.filter((operation) => {
      const { parameters = [] } = this.#describedBy(operation);
      return parameters.some(({ in: place, name }) => place === "header" && name === header);
    });
  }

  /** Whether the document says that it needs a body. */
  needsBody(operation: Operation): boolean {
    const { requestBody } = this.#describedBy(operation);
    return (requestBody as { readonly required?: boolean } | undefined)?.required === true;
  }

  /** Those of the account's key, or of a session where the operation needs one. */
  credentialsFor(operation: Operation): Record<string, string> {
    return this.#describedBy(operation)["x-permission"] === "session"
      ? { Cookie: this.#cookie, "Sec-Fetch-Site": "same-origin" }
      : { "X-API-Key": this.#account.apiKey };
  }

  /** Sends the sample. */
  async send(operation: Operation, query = "", headers: Readonly<Record<string, string>> = {}) {
    const { body } = operation;
    return this.sendBody(operation, body === undefined ? undefined : JSON.stringify(body), query, headers);
  }

  async sendBody(
    operation: Operation,
    body: string | undefined,
    query = "",
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly text: string }> {
    const abort = new AbortController();
    const response = await this.#fetch(operation, body, query, headers, abort.signal);
    // What is carried out may be a stream that does not end.
    const text = response.status < 400 ? "" : await response.text();
    abort.abort();
    return { status: response.status, text };
  }

  /** Reads the resource that an operation changes. */
  async read({ path }: Operation): Promise<{ readonly etag: string | null; readonly body: object }> {
    const response = await this.#fetch(this.operation(`GET ${path}`));
    return { etag: response.headers.get("etag"), body: (await response.json()) as object };
  }

  /** Expects that no operation changes anything that is not as its `If-Match` says, and that it responds with what is there. */
  async expectConditions({ everything }: Stored): Promise<void> {
    const before = await everything();
    for (const operation of this.declaring("If-Match")) {
      const { status, text } = await this.send(operation, "", { "If-Match": '"c3RhbGU.c3RhbGU"' });
      expect([operation.name, status]).toEqual([operation.name, 412]);
      const { etag, body } = await this.read(operation);
      expect([operation.name, etag]).toEqual([operation.name, expect.stringMatching(/^"[^"]+"$/)]);
      // Of an asset, when it was last seen may differ.
      expect(Object.keys((JSON.parse(text) as Refusal).details.current)).toEqual(Object.keys(body));
    }
    expect(await everything()).toBe(before);
  }

  /** Expects that every operation which takes an `Idempotency-Key` is carried out once with it. Removes what there is. */
  async expectRepetitions({ madeByClients }: Stored): Promise<void> {
    const walked = this.declaring("Idempotency-Key")
      .filter(({ name, path }) => !REMEMBERED_OTHERWISE.test(path) && !ENDS_SESSION.has(name))
      // Until they are removed, there is something to be changed, and a part before the whole.
      .toSorted((a, b) => orderOfChange(a) - orderOfChange(b));
    const left: string[] = [];
    for (const [index, operation] of walked.entries()) {
      const key = `walk-${index}`;
      const first = await this.#sendWithKey(operation, key);
      if (first.status >= 300) {
        left.push(`${operation.name} ${first.status}`);
        continue;
      }
      const before = await madeByClients();
      const again = await this.#sendWithKey(operation, key);
      expect([operation.name, again]).toEqual([operation.name, { ...first, isReplayed: true }]);
      expect([operation.name, await madeByClients()]).toEqual([operation.name, before]);
      const { status, text } = await this.#sendWithKey(operation, key, "?");
      expect([operation.name, status]).toEqual([operation.name, 422]);
      expect(text).toContain('"code":"IdempotencyKeyReused"');
    }
    expect(left.toSorted()).toEqual(Object.values(NOT_CARRIED_OUT).flat().toSorted());
    expect(walked.length - left.length).toBeGreaterThan(40);
  }

  #describedBy({ method, path }: Operation): Described {
    return this.#document.paths[path]?.[method.toLowerCase()] ?? {};
  }

  /** @param query `?` makes it another request, with the same meaning */
  async #sendWithKey(operation: Operation, key: string, query = "") {
    const { body } = operation;
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const response = await this.#fetch(operation, sent, query, { "Idempotency-Key": key });
    const { status, headers } = response;
    const [text, isReplayed] = [await response.text(), headers.has("idempotent-replayed")];
    return { status, text, isReplayed, location: headers.get("location"), etag: headers.get("etag") };
  }

  #fetch(
    operation: Operation,
    body?: string,
    query = "",
    headers: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    return fetch(`${this.control.url}${this.fill(operation.path)}${query}`, {
      method: operation.method,
      headers: {
        ...this.credentialsFor(operation),
        ...(body !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    });
  }
}
