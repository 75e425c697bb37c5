import { EdgeError } from "../../../protocol/errors/errors.ts";
import { STREAM_CHANNELS, type StreamChannelId } from "../../../protocol/link/stream-data.ts";
import type { DeviceStream } from "../session.ts";
import type { ChannelReader, OpenChannel } from "./channels.ts";
import type { LocalGateway } from "./local-gateway.ts";
import {
  decodeRequest,
  decodeStreamBody,
  encodeEnd,
  encodeJson,
  encodeStreamBytes,
  encodeStreamControl,
  type GatewayRequest,
} from "./wire.ts";

type Request<T extends GatewayRequest["type"]> = Extract<GatewayRequest, { type: T }>;

const CHANNEL_IDS: ReadonlySet<number> = new Set(Object.values(STREAM_CHANNELS));

/** Serves one channel of another instance: a query or a stream to a device whose session this instance has. */
export class Holder implements ChannelReader {
  readonly #local: LocalGateway;
  readonly #channel: OpenChannel;
  #isOpened = false;
  #open: Disposable | undefined;
  #stream: DeviceStream | undefined;
  #isEnded = false;

  constructor(local: LocalGateway, channel: OpenChannel) {
    this.#local = local;
    this.#channel = channel;
  }

  onBody(body: Uint8Array): void {
    if (this.#isOpened) return this.#onStreamBody(body);
    this.#isOpened = true;
    const request = decodeRequest(body);
    switch (request?.type) {
      case "query":
        return this.#query(request);
      case "stream":
        return this.#openStream(request);
      case "liveness":
        this.#local.checkLiveness(request.asset);
        return this.#end(encodeEnd(undefined));
      case undefined:
        // Of a later release, during an update.
        return this.#end(encodeEnd(new EdgeError("ServiceUnavailable")));
    }
  }

  /** The other instance has ended the channel, or it failed. */
  onEnd(): void {
    this.#isEnded = true;
    this.#open?.[Symbol.dispose]();
  }

  #query({ asset, what, params }: Request<"query">): void {
    const query = this.#local.query(asset, what, params, {
      // Not delayed for a slow reader: the device's other frames would wait, too. The channel fails if too much waits.
      answer: (answer) => this.#channel.send(encodeJson(answer)),
      end: (error) => this.#end(encodeEnd(error)),
    });
    this.#keep(query);
  }

  #openStream({ asset, kind, app, params, credit, by }: Request<"stream">): void {
    const stream = this.#local.openStream(
      asset,
      { kind, app, params, credit, by },
      {
        opened: (facts) => this.#channel.send(encodeStreamControl({ type: "opened", ...facts })),
        // Bounded by the credit that the client has given.
        data: (channel, data) => this.#channel.send(encodeStreamBytes(channel, data)),
        credit: (bytes) => this.#channel.send(encodeStreamControl({ type: "credit", bytes })),
        end: (end) => this.#end(encodeJson(end)),
      },
    );
    this.#stream = stream;
    this.#keep(stream);
  }

  #onStreamBody(body: Uint8Array): void {
    if (!this.#stream || !this.#takeStreamBody(this.#stream, body)) {
      this.#channel[Symbol.dispose]();
      this.onEnd();
    }
  }

  /** Returns false if the body is not valid. */
  #takeStreamBody(stream: DeviceStream, body: Uint8Array): boolean {
    const decoded = decodeStreamBody(body);
    switch (decoded?.type) {
      case "data":
        return isStreamChannel(decoded.channel) && stream.send(decoded.channel, decoded.data);
      case "credit":
        return stream.credit(decoded.bytes);
      case "resize":
        stream.resize(decoded.columns, decoded.rows);
        return true;
      case "opened":
      case undefined:
        return false;
    }
  }

  /** It may have ended already. */
  #keep(open: Disposable): void {
    this.#open = open;
    if (this.#isEnded) open[Symbol.dispose]();
  }

  #end(body: Uint8Array): void {
    this.#isEnded = true;
    this.#channel.end(body);
  }
}

export function isStreamChannel(channel: number): channel is StreamChannelId {
  return CHANNEL_IDS.has(channel);
}
