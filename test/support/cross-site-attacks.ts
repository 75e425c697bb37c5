/** What an attack aims at. */
export interface Target {
  /** Address of the service. */
  readonly url: string;
  readonly assetId: string;
  readonly userId: string;
}

// As source text, which a browser runs: programs of this project are not compiled for pages.
const PRELUDE = `
  const create = (name, properties) => Object.assign(document.createElement(name), properties);
  const submit = (path, fields, properties = {}) => {
    const form = create("form", { method: "POST", action: target.url + path, ...properties });
    for (const [name, value] of Object.entries(fields)) form.append(create("input", { name, value }));
    document.body.append(form);
    form.submit();
  };
  const send = (path, options) =>
    fetch(target.url + path, { credentials: "include", ...options }).then(() => undefined, () => undefined);
  const reset = "/v1/users/" + target.userId + "/reset";
  const json = { "Content-Type": "application/json" };
  const key = '{"name":"evil","role":"admin"}';
`;

/** Every way in which a page of another site can make a browser send a request. */
const ATTACKS: Readonly<Record<string, string>> = {
  "a form with fields": `submit("/v1/assets", { serial_number: "SN-1", name: "evil", type: "gateway" })`,
  "a form whose text is JSON": `submit("/v1/users",
    { '{"email":"evil@example.com","role":"admin","name":"': '"}' }, { enctype: "text/plain" })`,
  "a form with a file, in a frame": `
    document.body.append(create("iframe", { name: "frame" }));
    submit("/v1/api-keys", { name: "evil" }, { enctype: "multipart/form-data", target: "frame" })`,
  "a form without fields": `submit(reset, {})`,
  "a form in another window": `submit(reset, {}, { target: "_blank" })`,
  "a form that signs in as the attacker": `submit("/v1/session",
    { '{"email":"attacker@example.com","password":"another way to the pump house","x":"': '"}' },
    { enctype: "text/plain" })`,
  "fetch with JSON": `return send("/v1/api-keys", { method: "POST", headers: json, body: key })`,
  "fetch without a body": `return send(reset, { method: "POST" })`,
  "fetch without a body, no-cors": `return send(reset, { method: "POST", mode: "no-cors" })`,
  "fetch with JSON as text, no-cors": `return send("/v1/api-keys", { method: "POST", mode: "no-cors", body: key })`,
  "fetch that deletes": `return send("/v1/assets/" + target.assetId, { method: "DELETE" })`,
  "fetch that signs out": `return send("/v1/session", { method: "DELETE" })`,
  "fetch that signs in as the attacker": `return send("/v1/session", { method: "POST", mode: "no-cors",
    body: '{"email":"attacker@example.com","password":"another way to the pump house"}' })`,
  XMLHttpRequest: `return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", target.url + reset);
    request.withCredentials = true;
    request.onloadend = () => resolve();
    request.send();
  })`,
  "an image": `document.body.append(create("img", { src: target.url + "/v1/oidc/start" }))`,
  "a frame": `document.body.append(create("iframe", { src: target.url + "/v1/assets" }))`,
  "a script": `document.head.append(create("script", { src: target.url + "/v1/users" }))`,
  "sendBeacon with text": `navigator.sendBeacon(target.url + reset, "{}")`,
  "sendBeacon with JSON": `navigator.sendBeacon(target.url + "/v1/api-keys", new Blob([key], { type: "application/json" }))`,
  prefetch: `document.head.append(
    create("link", { rel: "prefetch", href: target.url + "/v1/oidc/callback?state=x&code=y" }))`,
};

/** The attacks by name, each as a program for a page. */
export function attacksOn(target: Target): readonly (readonly [name: string, program: string])[] {
  return Object.entries(ATTACKS).map(([name, body]) => [
    name,
    `((target) => { ${PRELUDE}\n${body} })(${JSON.stringify(target)})`,
  ]);
}

/** A program that resolves to whether a WebSocket is opened. */
export function openSocket(url: string): string {
  return `new Promise((resolve) => {
    const socket = new WebSocket(${JSON.stringify(url)});
    socket.onopen = () => resolve("open");
    socket.onerror = () => resolve("refused");
  })`;
}
