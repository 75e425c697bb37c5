import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { explainNetworkError } from "../../../../../src/agent/core/net/network-error.ts";

const NOW = Date.UTC(1970, 0, 1, 0, 3);
const explain = (code: string): string => explainNetworkError(Object.assign(new Error("raw"), { code }), NOW);

describe("a network error in words", () => {
  it.each([
    ["ECONNREFUSED", /nothing listens/],
    ["ENOTFOUND", /host name does not exist/],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", /self-signed.*extra_ca_file/],
    ["SELF_SIGNED_CERT_IN_CHAIN", /not trusted.*extra_ca_file/],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", /extra_ca_file/],
    ["ERR_TLS_CERT_ALTNAME_INVALID", /another host name/],
  ])("%s is explained", (code, words) => {
    expect(explain(code)).toMatch(words);
  });

  it("names the setting of a registry where the certificate is a registry's", () => {
    const error = Object.assign(new Error("raw"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(explainNetworkError(error, NOW, "ca_file of the registry")).toMatch(/set ca_file of the registry to/);
  });

  it("names the device's clock where a certificate is out of its time", () => {
    expect(explain("CERT_NOT_YET_VALID")).toMatch(/not valid yet.*1970-01-01T00:03Z.*check the clock/);
    expect(explain("CERT_HAS_EXPIRED")).toMatch(/has expired.*1970-01-01T00:03Z/);
  });

  it("keeps code and message of an error it does not know", () => {
    expect(explain("ESOMETHING")).toBe("raw (ESOMETHING)");
  });

  it("yields one short printable line for anything thrown", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.anything(), fc.record({ code: fc.string(), message: fc.string({ unit: "binary" }) })),
        (thrown) => {
          const words = explainNetworkError(thrown, NOW);
          expect(words).not.toBe("");
          expect(words.slice(0, 200)).not.toMatch(/\p{Cc}/u);
        },
      ),
    );
  });
});
