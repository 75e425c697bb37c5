import { Button, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "react-router";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import type { Asset } from "../../api/types.ts";
import { Form } from "../../parts/form.tsx";
import { Note } from "../../parts/note.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { AcceptanceSettings } from "./acceptance-settings.tsx";
import { EnrolDevice } from "./enrol-device.tsx";
import { useQuery } from "@tanstack/react-query";
import { Loading } from "../../parts/loading.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";

const PARAMETER = "serial";

/**
 * Enrols a device, on a phone beside it. The serial number is in the address, so that a reload, or a link that was lost,
 * continues where it was.
 */
export function EnrolPage(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const serial = parameters.get(PARAMETER) ?? "";
  return (
    <div style={{ maxWidth: "34rem" }}>
      <PageTitle title="Enrol a device" />
      {serial === "" ? (
        <>
          <AskForSerial onSerial={(next) => setParameters({ [PARAMETER]: next })} />
          <AcceptanceSettings />
        </>
      ) : (
        <FindOrRegister key={serial} serial={serial} onOther={() => setParameters({})} />
      )}
    </div>
  );
}

function AskForSerial({ onSerial }: { readonly onSerial: (serial: string) => void }): ReactNode {
  const [typed, setTyped] = useState("");
  const serial = typed.trim();
  return (
    <Form
      action="Continue"
      isPending={false}
      error={undefined}
      canSubmit={serial !== ""}
      onSubmit={() => onSerial(serial)}
    >
      <TextInput
        label="Serial number"
        description="On the label of the housing. An ICCID of its SIM works too, for a device that is registered."
        size="lg"
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        enterKeyHint="go"
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </Form>
  );
}

interface FoundProps {
  readonly serial: string;
  readonly onOther: () => void;
}

function FindOrRegister({ serial, onOther }: FoundProps): ReactNode {
  const asset = useQuery({
    queryKey: [...KEYS.assets, "by-serial", serial],
    queryFn: async ({ signal }): Promise<Asset | null> => {
      try {
        return await call("GET /v1/assets/{asset_id}", { path: { asset_id: serial }, signal });
      } catch (error) {
        if (toFailure(error).code === "AssetNotFound") return null;
        throw error;
      }
    },
  });
  const other = (
    <Button variant="default" onClick={onOther}>
      Another device
    </Button>
  );
  if (asset.data === undefined) {
    if (asset.error) return <FailureNote failure={toFailure(asset.error)} onRetry={() => void asset.refetch()} />;
    return <Loading />;
  }
  if (asset.data === null) return <Register serial={serial} other={other} />;
  return <EnrolDevice asset={asset.data} other={other} />;
}

function Register({ serial, other }: { readonly serial: string; readonly other: ReactNode }): ReactNode {
  const mayRegister = usePermission("assets.register");
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [type, setType] = useState("");
  const register = useMutation({
    mutationFn: () =>
      call("POST /v1/assets", {
        body: {
          serial_number: serial,
          ...(name.trim() !== "" && { name: name.trim() }),
          ...(type.trim() !== "" && { type: type.trim() }),
        },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEYS.assets }),
  });
  if (!mayRegister)
    return (
      <Stack gap="md">
        <Note kind="warn" title={`There is no asset with the number ${serial}.`}>
          Your role may not register one: ask for the role installer.
        </Note>
        <Group>{other}</Group>
      </Stack>
    );
  return (
    <Stack gap="md">
      <Note kind="info" title={`There is no asset with the number ${serial} yet.`}>
        Compare it with the label. If it is right, register the device.
      </Note>
      <Form
        action="Register"
        isPending={register.isPending}
        error={register.error}
        onSubmit={() => register.mutate()}
        actions={other}
      >
        <TextInput
          label="Name"
          description="Such as where it stands; the serial number if nothing is typed."
          size="md"
          value={name}
          maxLength={128}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <TextInput
          label="Type"
          description="Kind of device; may be empty."
          size="md"
          value={type}
          maxLength={64}
          onChange={({ currentTarget }) => setType(currentTarget.value)}
        />
      </Form>
      <Text size="sm" c="dimmed">
        SIMs are added by those who register assets by the API.
      </Text>
    </Stack>
  );
}
