import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { maskDeclaredSecrets, maskSpec } from "../../../../src/control-plane/core/mask-spec.ts";

test("the values of the environment are masked, and nothing else changes", () => {
  const spec = {
    name: "web",
    environments: [
      { key: "A", value: "s3cret" },
      { key: "B", value: "", secret: true },
      { key: "C", secret: true },
    ],
    ports: [],
  };
  expect(maskSpec(spec)).toEqual({
    name: "web",
    environments: [
      { key: "A", value: "***" },
      { key: "B", value: "***", secret: true },
      { key: "C", secret: true },
    ],
    ports: [],
  });
  expect(spec.environments[0]?.value).toBe("s3cret");
});

test.each([[{}], [{ environments: 3 }], [{ environments: [null, 1, {}] }]])("%j passes", (spec) => {
  expect(maskSpec(spec)).toEqual(spec);
});

test("declared secrets alone are masked where the values were asked for", () => {
  const plain = [{ key: "A", value: "1" }, { key: "B", value: "2", secret: false }, null];
  const environments = [...plain, { key: "C", value: "s3cret", secret: true }, { key: "D", secret: true }];
  const masked = [...plain, { key: "C", value: "***", secret: true }, { key: "D", secret: true }];
  expect(maskDeclaredSecrets({ name: "web", environments })).toEqual({ name: "web", environments: masked });
});

test("a secret is masked wherever it was put: in other variables, in commands and in labels", () => {
  const spec = {
    name: "web",
    environments: [
      { key: "TOKEN", value: "s3cret-token", secret: true },
      { key: "DSN", value: "https://u:s3cret-token@db", secret_parts: ["s3cret-token"] },
      { key: "TZ", value: "UTC" },
    ],
    command: ["serve", "--token=s3cret-token"],
    labels: { "com.example.token": "s3cret-token", "com.example.team": "one" },
  };
  const shared = {
    name: "web",
    command: ["serve", "--token=***"],
    labels: { "com.example.token": "***", "com.example.team": "one" },
  };
  const secrets = ["TOKEN", "DSN"].map((key) => ({ key, value: "***", secret: true }));
  expect(maskSpec(spec)).toEqual({ ...shared, environments: [...secrets, { key: "TZ", value: "***" }] });
  expect(maskDeclaredSecrets(spec)).toEqual({ ...shared, environments: [...secrets, { key: "TZ", value: "UTC" }] });
});

test("files have their sizes in place of their contents, in whatever form those were sent", () => {
  const content = "planted ".repeat(100);
  const forms = [
    { content },
    { content_base64: Buffer.from(content).toString("base64") },
    { content_gzip: gzipSync(content).toString("base64") },
  ];
  const files = forms.map((form, index) => ({ target: `/${index}`, ...form, mode: "0400" }));
  const described = forms.map((_, index) => ({ target: `/${index}`, mode: "0400", size: content.length }));
  expect(maskSpec({ name: "web", files })).toEqual({ name: "web", files: described });
  expect(maskDeclaredSecrets({ name: "web", files })).toEqual({ name: "web", files: described });
  const kept = [{ target: "/a" }, { target: "/b", content_gzip: 1 }, { target: "/c", content_gzip: "%" }];
  const shown = [{ target: "/a" }, { target: "/b" }, { target: "/c", size: 0 }];
  expect(maskSpec({ files: kept })).toEqual({ files: shown });
});
