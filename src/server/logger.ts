/** The logger that the server needs; pino fits. */
export interface Logger {
  isLevelEnabled(level: 'debug'): boolean;
  debug(fields: object, says: string): void;
  info(fields: object, says: string): void;
  warn(fields: object, says: string): void;
  error(fields: object, says: string): void;
}
