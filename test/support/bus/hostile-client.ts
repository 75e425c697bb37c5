import { connect, type NatsConnection } from "@nats-io/transport-node";

interface Captured {
  readonly subject: string;
  readonly bytes: Uint8Array;
}

/** A client with the credentials of the bus and nothing else. It sees everything, and sends what it likes. */
export class HostileClient implements AsyncDisposable {
  readonly captured: Captured[] = [];
  readonly #connection: NatsConnection;

  private constructor(connection: NatsConnection) {
    this.#connection = connection;
    connection.subscribe(">", {
      callback: (_error, { subject, data }) => void this.captured.push({ subject, bytes: Uint8Array.from(data) }),
    });
  }

  static async connect(port: number): Promise<HostileClient> {
    return new HostileClient(await connect({ servers: [`nats://127.0.0.1:${port}`], noEcho: true }));
  }

  /** Whether a text has passed over the bus as it is. */
  hasSeen(text: string): boolean {
    return this.captured.some(({ bytes }) => Buffer.from(bytes).includes(text));
  }

  send(subject: string, bytes: Uint8Array | string): void {
    this.#connection.publish(subject, bytes);
  }

  /** Resolves when the server has what was sent. */
  flush(): Promise<void> {
    return this.#connection.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection.close();
  }
}
