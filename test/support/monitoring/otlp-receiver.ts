import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";

const attribute = z.strictObject({ key: z.string().min(1), value: z.strictObject({ stringValue: z.string() }) });
const attributes = z.array(attribute).refine((all) => new Set(all.map(({ key }) => key)).size === all.length);
const at = z.string().regex(/^[1-9][0-9]{9}000000000$/);
const point = z.union([
  z.strictObject({ timeUnixNano: at, asInt: z.string().regex(/^-?[0-9]+$/), attributes: attributes.optional() }),
  z.strictObject({ timeUnixNano: at, asDouble: z.number(), attributes: attributes.optional() }),
]);
/** `ExportMetricsServiceRequest` of OTLP in its JSON form, as far as gauges go. */
const exportRequest = z.strictObject({
  resourceMetrics: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeMetrics: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string().min(1), version: z.string() }),
          metrics: z
            .array(
              z.strictObject({
                name: z.string().regex(/^[a-z][a-z0-9_.]{0,254}$/),
                unit: z.string().max(63),
                gauge: z.strictObject({ dataPoints: z.array(point).min(1) }),
              }),
            )
            .min(1),
        }),
      ),
    }),
  ),
});

/** What has come of a device: its attributes, and its metrics by name. */
export interface OtlpDevice {
  readonly resource: Readonly<Record<string, string>>;
  readonly metrics: Readonly<Record<string, { readonly value: number; readonly at: number; readonly unit: string }>>;
}

interface OtlpRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly devices: readonly OtlpDevice[];
}

/** A receiver of OTLP over HTTP on loopback, which refuses what is not of its schema. */
export class OtlpReceiver implements Disposable {
  readonly requests: OtlpRequest[] = [];
  readonly problems: string[] = [];
  answer: () => { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string } =
    () => ({
      status: 200,
    });
  readonly #server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const read = exportRequest.safeParse(JSON.parse(body));
      if (!read.success || request.method !== "POST" || request.headers["content-type"] !== "application/json") {
        this.problems.push(read.success ? "not a POST of JSON" : z.prettifyError(read.error));
        return void response.writeHead(400).end("{}");
      }
      this.requests.push({
        path: request.url ?? "",
        headers: request.headers,
        devices: read.data.resourceMetrics.map(toDevice),
      });
      const { status, headers = {}, body: answer = "{}" } = this.answer();
      response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(answer);
    });
  });

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await new Promise<void>((resolve) => {
      receiver.#server.listen(0, "127.0.0.1", resolve);
    });
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/metrics`;
  }

  [Symbol.dispose](): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

type ResourceMetrics = z.output<typeof exportRequest>["resourceMetrics"][number];

function toDevice({ resource, scopeMetrics }: ResourceMetrics): OtlpDevice {
  const metrics = scopeMetrics.flatMap((scope) => scope.metrics);
  const entries = metrics.map(({ name, unit, gauge }) => {
    const [found] = gauge.dataPoints;
    if (!found || gauge.dataPoints.length > 1) throw new Error(`${name} has not one point`);
    const value = "asInt" in found ? Number(found.asInt) : found.asDouble;
    return [name, { value, unit, at: Number(found.timeUnixNano.slice(0, -9)) }] as const;
  });
  return {
    resource: Object.fromEntries(resource.attributes.map(({ key, value }) => [key, value.stringValue])),
    metrics: Object.fromEntries(entries),
  };
}
