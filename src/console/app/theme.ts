import { type CSSVariablesResolver, createTheme, rem } from "@mantine/core";

/** Dense enough for lists of hundreds of devices; every text has a contrast of at least 4.5. */
export const theme = createTheme({
  primaryColor: "blue",
  primaryShade: { light: 8, dark: 8 },
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SFMono-Regular', 'DejaVu Sans Mono', Consolas, monospace",
  fontSizes: { xs: rem(12), sm: rem(14), md: rem(15), lg: rem(17), xl: rem(20) },
  defaultRadius: "sm",
  respectReducedMotion: true,
  headings: {
    fontWeight: "600",
    sizes: {
      h1: { fontSize: rem(22), lineHeight: "1.3" },
      h2: { fontSize: rem(17), lineHeight: "1.35" },
      h3: { fontSize: rem(15), lineHeight: "1.4" },
    },
  },
});

/** Mantine's colours with too little contrast are replaced. */
export const cssVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": colors.gray[7],
    "--mantine-color-error": colors.red[9],
    "--mantine-color-anchor": colors.blue[8],
    "--mantine-color-placeholder": colors.gray[6],
    "--console-line": colors.gray[3],
    "--console-surface": colors.gray[0],
    "--console-good": "#1b6e33",
    "--console-warn": "#8a4b00",
    "--console-bad": colors.red[9],
    "--console-selected": colors.blue[0],
  },
  dark: {
    "--mantine-color-dimmed": colors.dark[1],
    "--mantine-color-error": colors.red[4],
    "--mantine-color-anchor": colors.blue[3],
    "--mantine-color-placeholder": colors.dark[2],
    "--console-line": colors.dark[4],
    "--console-surface": colors.dark[8],
    "--console-good": colors.green[4],
    "--console-warn": colors.yellow[4],
    "--console-bad": colors.red[4],
    "--console-selected": colors.dark[5],
  },
});

/** The nonce that the page's policy allows style elements with. */
export function readNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
}
