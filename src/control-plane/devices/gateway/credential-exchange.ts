import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../../../lib/clock.ts";
import { type RegistryAuth, registryAuthSchema } from "../../../protocol/apps/deploy-request.ts";
import type { MessageLink } from "../../bus/message-link.ts";
import type { LocalGateway } from "./local-gateway.ts";
import { decodeJson, encodeJson } from "./wire.ts";

/** Time for the instance that has them to answer. */
const ANSWER_TIMEOUT_MS = 2_000;
const ALL = "credentials";

const questionSchema = z.object({
  id: z.uuid(),
  from: z.string().regex(/^[\w-]{1,64}$/),
  deployment: z.string(),
});
const answerSchema = z.object({ id: z.uuid(), auth: registryAuthSchema });

export interface CredentialExchangeOptions {
  readonly local: LocalGateway;
  readonly link: MessageLink;
  readonly instanceId: string;
  readonly clock: Clock;
}

/**
 * Asks the other instances for registry credentials, which only the one that received the request has, in its memory.
 */
export class CredentialExchange implements Disposable {
  readonly #options: CredentialExchangeOptions;
  readonly #waiting = new Map<string, (auth: RegistryAuth) => void>();
  readonly #listening = new DisposableStack();

  constructor(options: CredentialExchangeOptions) {
    this.#options = options;
    const { link, instanceId } = options;
    this.#listening.use(link.listen(ALL, (message) => void this.#answer(message)));
    this.#listening.use(
      link.listen(`${ALL}.${instanceId}`, (message) => {
        const answer = answerSchema.safeParse(decodeJson(message)).data;
        if (answer) this.#waiting.get(answer.id)?.(answer.auth);
      }),
    );
  }

  /** Returns the credentials of a deployment; `undefined` if no instance that can be reached has them. */
  async find(deployment: string): Promise<RegistryAuth | undefined> {
    const { link, instanceId: from, clock } = this.#options;
    const id = randomUUID();
    if (!link.send(ALL, encodeJson({ id, from, deployment }))) return undefined;
    const { promise, resolve } = Promise.withResolvers<RegistryAuth | undefined>();
    using _timeout = clock.timer(ANSWER_TIMEOUT_MS, () => resolve(undefined));
    this.#waiting.set(id, resolve);
    try {
      return await promise;
    } finally {
      this.#waiting.delete(id);
    }
  }

  [Symbol.dispose](): void {
    this.#listening.dispose();
  }

  async #answer(message: Uint8Array): Promise<void> {
    const question = questionSchema.safeParse(decodeJson(message)).data;
    const auth = question && (await this.#options.local.credentials(question.deployment));
    if (auth) this.#options.link.send(`${ALL}.${question.from}`, encodeJson({ id: question.id, auth }));
  }
}
