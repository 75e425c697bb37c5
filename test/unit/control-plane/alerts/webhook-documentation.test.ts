import { expect, test } from "vitest";
import { formatMessage } from "../../../../src/control-plane/alerts/channels/formats.ts";
import { testMessage } from "../../../../src/control-plane/alerts/message.ts";
import { blocksOf } from "../../../support/documentation.ts";

interface Documented {
  readonly isGenuine: (headers: Readonly<Record<string, string>>, body: string, secret: string) => boolean;
}

test("a receiver that checks signatures as docs/api.md says takes genuine messages alone", async () => {
  const block = blocksOf("docs/api.md").find(({ heading, language }) => heading === "Webhooks" && language === "js");
  const url = `data:text/javascript,${encodeURIComponent(block?.text ?? "")}`;
  const { isGenuine } = (await import(/* @vite-ignore */ url)) as Documented;
  const [secret = "", former = "", other = ""] = [1, 2, 3].map(
    (byte) => `whsec_${Buffer.alloc(32, byte).toString("base64")}`,
  );
  const channel = { kind: "webhook" as const, url: "https://hooks.example.com/alerts", secrets: [former, secret] };
  const sent = (ageMs: number) => formatMessage(channel, testMessage("acc_1", "ops", 0), "msg_1", Date.now() - ageMs);
  const { headers, body } = sent(0);
  expect(isGenuine(headers, body, secret)).toBe(true);
  expect(isGenuine(headers, body, former)).toBe(true);
  expect(isGenuine(headers, body, other)).toBe(false);
  expect(isGenuine(headers, `${body} `, secret)).toBe(false);
  expect(isGenuine({ ...headers, "webhook-id": "msg_2" }, body, secret)).toBe(false);
  const late = sent(3_600_000);
  expect(isGenuine(late.headers, late.body, secret)).toBe(false);
});
