import type { DeviceDataUsage } from "../../../src/protocol/link/data-usage.ts";
import { someFacts } from "../control-plane/device-samples.ts";
import { FakeDevice } from "../fake-device.ts";

/** A connected device that says what it counted whenever it is asked. Other questions end without an answer. */
export class CountingDevice implements AsyncDisposable {
  readonly #device: FakeDevice;
  readonly #answering: Promise<void>;

  private constructor(device: FakeDevice, days: DeviceDataUsage["days"]) {
    this.#device = device;
    this.#answering = this.#answer(days);
  }

  static async connect(url: string, token: string, days: DeviceDataUsage["days"]): Promise<CountingDevice> {
    const device = await FakeDevice.connect(url, token);
    device.report({ hash: "1", device: someFacts() });
    return new CountingDevice(device, days);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#device[Symbol.asyncDispose]();
    await this.#answering;
  }

  async #answer(days: DeviceDataUsage["days"]): Promise<void> {
    while (!this.#device.isClosed) {
      // Waits ten seconds each time.
      const query = await this.#device.next("query").catch(() => undefined);
      if (!query) continue;
      if (query.what === "data_usage") this.#device.answer(query.query_id, { days, deployments: [], budget: null });
      else if (query.what !== "deployments") this.#device.endQuery(query.query_id, "DeviceFailed");
    }
  }
}
