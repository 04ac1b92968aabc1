// A NestJS app with its worker inside. Requests enqueue tasks; a provider works on them, from bootstrap to shutdown.
//
//   cd examples/nestjs && npm ci && npm start
//
//   curl -i 127.0.0.1:3000/reports/ada --json '{ "pages": 20 }'      # 202 and the id of the task
//   curl 127.0.0.1:3000/reports/orders/TASK                          # what became of it
//   curl 127.0.0.1:3000/reports/ada                                  # the report, once it is published
//
// It needs no server. With LEASEHOLD_URL it uses that one, and you can start the app several times.
import 'reflect-metadata';
import process from 'node:process';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LeaseholdModule } from './leasehold.module.js';
import { ReportsController } from './reports.controller.js';
import { ReportsWorker } from './reports.worker.js';

@Module({ imports: [LeaseholdModule], controllers: [ReportsController], providers: [ReportsWorker] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks(); // SIGTERM and SIGINT run the hooks of the providers before the process ends
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
console.log(`listening on ${await app.getUrl()}`);
