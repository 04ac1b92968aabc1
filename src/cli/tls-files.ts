/** `--tls-cert` and `--tls-key`: reads both files. A fault becomes one sentence that names both. */
import { type TlsPair, UnusableTlsError } from '../server/usable-tls.ts';
import { type Failure, wrongUsage } from './failure.ts';
import type { AccessWorld } from './token-file.ts';

export interface TlsFlags {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

/** `address`: where the server would have listened. */
export async function readTls(
  shell: Pick<AccessWorld, 'files'>,
  flags: TlsFlags,
  address: string,
): Promise<TlsPair | null> {
  const { tlsCert, tlsKey } = flags;
  if (tlsCert === undefined && tlsKey === undefined) return null;
  if (tlsCert === undefined || tlsKey === undefined)
    throw wrongUsage('TLS needs both --tls-cert and --tls-key.');
  const names = namesOf(flags);
  const read = (path: string, name: string): Promise<string> =>
    shell.files.read(path).catch((fault: NodeJS.ErrnoException) => {
      throw noHttps(
        address,
        fault.code === 'ENOENT'
          ? `there is no file ${name}`
          : `${name} cannot be read (${fault.code ?? fault.message})`,
      );
    });
  return { cert: await read(tlsCert, names.cert), key: await read(tlsKey, names.key) };
}

/** A fault of TLS with the names of the files; any other fault as it is. */
export function tlsFailure(fault: unknown, flags: TlsFlags, address: string): unknown {
  return fault instanceof UnusableTlsError ? noHttps(address, fault.why(namesOf(flags))) : fault;
}

const namesOf = ({ tlsCert, tlsKey }: TlsFlags): TlsPair => ({
  cert: `${tlsCert} (--tls-cert)`,
  key: `${tlsKey} (--tls-key)`,
});

const noHttps = (address: string, why: string): Failure =>
  wrongUsage(`The server cannot serve HTTPS on ${address}: ${why}.`);
