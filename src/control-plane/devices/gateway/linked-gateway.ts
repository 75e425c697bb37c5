import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { RegistryAuth } from "../../../protocol/apps/deploy-request.ts";
import type { QueryKind } from "../../../protocol/link/device-query.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { MessageLink } from "../../bus/message-link.ts";
import type { DeviceStream, QuerySink, StreamRequest, StreamSink } from "../session.ts";
import { type ChannelReader, GatewayChannels } from "./channels.ts";
import { CredentialExchange } from "./credential-exchange.ts";
import type { DeviceGateway, StreamGateway } from "./device-gateway.ts";
import { Holder } from "./holder.ts";
import type { LocalGateway } from "./local-gateway.ts";
import { RemoteStream } from "./remote-stream.ts";
import { decodeEnd, decodeJson, encodeJson, type GatewayRequest, holderLost } from "./wire.ts";

export interface LinkedGatewayOptions {
  readonly local: LocalGateway;
  readonly link: MessageLink;
  readonly instanceId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the instance that has the device's session; `undefined` if the device is not connected. */
  readonly locate: (assetUuid: string) => Promise<string | undefined>;
  /** Whether another instance is known not to respond. */
  readonly isUnresponsive?: (instanceId: string) => boolean;
}

const ignore = (): void => undefined;

/** Reaches the devices of this instance directly, and those of others over the link, for which it also serves its own. */
export class LinkedGateway implements DeviceGateway, StreamGateway, Disposable {
  readonly #options: LinkedGatewayOptions;
  readonly #channels: GatewayChannels;
  readonly #credentials: CredentialExchange;

  constructor(options: LinkedGatewayOptions) {
    this.#options = options;
    const { local } = options;
    this.#channels = new GatewayChannels({ ...options, accept: (channel) => new Holder(local, channel) });
    this.#credentials = new CredentialExchange(options);
  }

  /** Number of channels to other instances. */
  get channels(): number {
    return this.#channels.size;
  }

  query(assetUuid: string, what: QueryKind, params: unknown, sink: QuerySink): Disposable {
    const { local } = this.#options;
    if (local.has(assetUuid)) return local.query(assetUuid, what, params, sink);
    const open: { current?: Disposable; isOver: boolean } = { isOver: false };
    const end = (error: EdgeError | undefined): void => {
      if (open.isOver) return;
      open.isOver = true;
      sink.end(error);
    };
    const reader: ChannelReader = {
      onBody: (body) => (open.isOver ? undefined : sink.answer(decodeJson(body))),
      onEnd: (body) => end(body ? decodeEnd(body) : holderLost()),
    };
    void this.#locate(assetUuid, end, (instanceId) => {
      if (open.isOver) return;
      const request: GatewayRequest = { type: "query", asset: assetUuid, what, params };
      // The session may have come here meanwhile.
      open.current =
        instanceId === this.#options.instanceId
          ? local.query(assetUuid, what, params, { answer: (body) => sink.answer(body), end })
          : this.#channels.open(instanceId, encodeJson(request), reader);
    });
    return {
      [Symbol.dispose]: () => {
        open.isOver = true;
        open.current?.[Symbol.dispose]();
      },
    };
  }

  openStream(assetUuid: string, request: StreamRequest, sink: StreamSink): DeviceStream {
    const { local } = this.#options;
    if (local.has(assetUuid)) return local.openStream(assetUuid, request, sink);
    const stream = new RemoteStream(request.credit, sink);
    const fail = ({ code, message }: EdgeError): void => stream.onEnd(encodeJson({ code, message }));
    void this.#locate(assetUuid, fail, (instanceId) => {
      if (stream.isOver) return;
      // The caller has a remote stream: it tries again if the session has come here meanwhile.
      if (instanceId === this.#options.instanceId) return fail(holderLost());
      const { kind, app, params, credit, by } = request;
      const body: GatewayRequest = { type: "stream", asset: assetUuid, kind, app, params, credit, by };
      stream.attach(this.#channels.open(instanceId, encodeJson(body), stream));
    });
    return stream;
  }

  checkLiveness(assetUuid: string): void {
    const { local, instanceId: own } = this.#options;
    if (local.has(assetUuid)) return local.checkLiveness(assetUuid);
    void this.#locate(assetUuid, ignore, (instanceId) => {
      const request: GatewayRequest = { type: "liveness", asset: assetUuid };
      if (instanceId !== own) this.#channels.open(instanceId, encodeJson(request), { onBody: ignore, onEnd: ignore });
    });
  }

  async credentials(deploymentId: string): Promise<RegistryAuth | undefined> {
    return (await this.#options.local.credentials(deploymentId)) ?? (await this.#credentials.find(deploymentId));
  }

  [Symbol.dispose](): void {
    this.#channels[Symbol.dispose]();
    this.#credentials[Symbol.dispose]();
  }

  async #locate(
    assetUuid: string,
    fail: (error: EdgeError) => void,
    found: (instanceId: string) => void,
  ): Promise<void> {
    let instanceId: string | undefined;
    try {
      instanceId = await this.#options.locate(assetUuid);
    } catch {
      return fail(new EdgeError("ServiceUnavailable"));
    }
    if (instanceId === undefined) return fail(new EdgeError("DeviceNotReachable"));
    if (this.#options.isUnresponsive?.(instanceId)) return fail(holderLost());
    found(instanceId);
  }
}
